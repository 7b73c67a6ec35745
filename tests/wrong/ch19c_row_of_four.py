from lanewise.exercise import Wrong

MAX = "m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));\n        }\n        float l"
SUM_LOOP = "for (int w = 1; w <= 2; w *= 2) {\n            l +="
MAX_LOOP = "for (int w = 1; w <= 2; w *= 2) {\n            m ="
M = "float m = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]),\n                        fmaxf(s[1][2 * h], s[1][2 * h + 1]));"

WRONG = [
    Wrong("a sum of all lanes", [(SUM_LOOP, SUM_LOOP.replace("w = 1; w <= 2;", "w = 1; w <= 16;"))], kind="wrong-values"),
    Wrong(
        "a maximum of all lanes: rows far below have no weight left",
        [(MAX_LOOP, MAX_LOOP.replace("w <= 2", "w <= 16"))],
        kind="wrong-values",
        says="nan",
    ),
    Wrong("sums of a column", [(SUM_LOOP, SUM_LOOP.replace("w = 1; w <= 2;", "w = 4; w <= 16;"))], kind="wrong-values"),
    Wrong("pairs of lanes instead of four", [(SUM_LOOP, SUM_LOOP.replace("w <= 2", "w <= 1"))], kind="wrong-values"),
    Wrong("every lane its own maximum", [(MAX_LOOP, MAX_LOOP.replace("w <= 2", "w <= 0"))], kind="wrong-values"),
    Wrong("the first fragment's maximum alone, too small", [(M, "float m = -fmaxf(s[0][2 * h], s[0][2 * h + 1]);")], kind="wrong-values"),
    Wrong("the rows of a lane next to each other", [("const int row = group + 8 * h;", "const int row = 2 * group + h;")], kind="wrong-values"),
    Wrong("LSE without the scale", [("logf(l);\n    }\n    //@stub", "logf(l) - scale * m + m;\n    }\n    //@stub")], kind="wrong-values", says="LSE[0] is"),
]
