from lanewise.exercise import Wrong

MINE = "    dO += (head * Nq + row) * d;\n"
WRONG = [
    Wrong("the block's row", [(MINE, MINE.replace("row", "r"))], kind="wrong-values", says="9 queries, random dO"),
    Wrong("every head's first rows", [(MINE, MINE.replace("head * Nq + ", ""))], kind="wrong-values", says="random dO"),
    Wrong("only ones", [("dP += dO[c] * V[j * d + c]", "dP += V[j * d + c]")], kind="wrong-values", says="random dO"),
    Wrong("without delta", [("(dP - delta)", "dP")], kind="wrong-values", says="dQ"),
    Wrong("without the scale", [("= scale * left;", "= left;"), ("= scale * right;", "= right;")], kind="wrong-values", says="8 times"),
    Wrong("V for K", [("left += s * K[", "left += s * V[")], kind="wrong-values", says="dQ"),
    Wrong("a key past the end", [("if (j < Nk) {", "{")], kind="out-of-bounds"),
    Wrong("a lane left behind", [("__shfl_sync(0xffffffffu, dS, k)", "__shfl_sync(0xffffffffu, dS, k / 2)")], kind="wrong-values", says="dQ"),
]
