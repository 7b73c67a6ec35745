from lanewise.exercise import Wrong

SECOND_HALF = "    sum += O[r * d + lane + 32] * dO[r * d + lane + 32];\n"
LOOP = "for (int j = lane; j < Nk; j += 32) {\n        dS"
OVER_KEYS = """\
    sum = 0.0f;
    for (int j = lane; j < Nk; j += 32) sum += P[r * Nk + j] * dP[r * Nk + j];
    for (int w = 16;"""
WRONG = [
    Wrong("forgets delta", [("(dP[r * Nk + j] - sum)", "dP[r * Nk + j]")], kind="wrong-values", says="dS"),
    Wrong("adds delta", [("(dP[r * Nk + j] - sum)", "(dP[r * Nk + j] + sum)")], kind="wrong-values", says="dS"),
    Wrong("half of the columns", [(SECOND_HALF, "")], kind="wrong-values", says="delta"),
    Wrong("the sum in lane 0 alone", [("__shfl_xor_sync(", "__shfl_down_sync(")], kind="wrong-values", says="dS"),
    Wrong("P isn't a factor", [("P[r * Nk + j] * (dP", "(dP")], kind="wrong-values", says="dS"),
    Wrong("sums over the keys, too", [("    for (int w = 16;", OVER_KEYS)], kind="over-budget", says="global_load_sectors"),
    Wrong("the same head for all", [("(size_t)blockIdx.y * Nq + row", "(size_t)row")], kind="unwritten-output", says="delta"),
    Wrong("one key too many", [(LOOP, LOOP.replace("j < Nk", "j <= Nk"))], kind="out-of-bounds"),
]
