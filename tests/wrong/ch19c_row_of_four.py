from lanewise.exercise import Wrong

MAX = "m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));\n        }\n        float l"
SUM_LOOP = "for (int w = 1; w <= 2; w *= 2) {\n            l +="
MAX_LOOP = "for (int w = 1; w <= 2; w *= 2) {\n            m ="
M = "float m = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]),\n                        fmaxf(s[1][2 * h], s[1][2 * h + 1]));"

BEGIN = "    for (int h = 0; h < 2; ++h) {\n        // Of row group + 8 h"
ONE_ROW = """    float top = s[0][0], all = 0.0f;
    for (int i = 0; i < 8; ++i) top = fmaxf(top, s[i / 4][i % 4]);
    for (int w = 16; w > 0; w /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, w));
    for (int i = 0; i < 8; ++i) all += expf(scale * (s[i / 4][i % 4] - top));
    for (int w = 16; w > 0; w /= 2) all += __shfl_xor_sync(0xffffffffu, all, w);
"""

WRONG = [
    Wrong("a sum of all lanes", [(SUM_LOOP, SUM_LOOP.replace("w = 1; w <= 2;", "w = 1; w <= 16;"))], kind="wrong-values", says="the sum is one of eight rows"),
    Wrong(
        "one row of all lanes",
        [
            (BEGIN, ONE_ROW + BEGIN),
            (M, "float m = top;"),
            (MAX_LOOP, MAX_LOOP.replace("w <= 2", "w <= 0")),
            ("const int row = group + 8 * h;", "l = all;\n        const int row = group + 8 * h;"),
        ],
        kind="wrong-values",
        says="one maximum and one sum for all 16 rows",
    ),
    Wrong(
        "a maximum of all lanes: rows far below have no weight left",
        [(MAX_LOOP, MAX_LOOP.replace("w <= 2", "w <= 16"))],
        kind="wrong-values",
        says="nan",
    ),
    Wrong("sums of a column", [(SUM_LOOP, SUM_LOOP.replace("w = 1; w <= 2;", "w = 4; w <= 16;"))], kind="wrong-values", says="the sum goes down the rows"),
    Wrong("pairs of lanes instead of four", [(SUM_LOOP, SUM_LOOP.replace("w <= 2", "w <= 1"))], kind="wrong-values", says="one of two lanes"),
    Wrong(
        "every lane its own maximum", [(MAX_LOOP, MAX_LOOP.replace("w <= 2", "w <= 0"))], kind="wrong-values", says="Every lane subtracts a maximum of its own"
    ),
    Wrong("the first fragment's maximum alone, too small", [(M, "float m = -fmaxf(s[0][2 * h], s[0][2 * h + 1]);")], kind="wrong-values"),
    Wrong(
        "the rows of a lane next to each other",
        [("const int row = group + 8 * h;", "const int row = 2 * group + h;")],
        kind="wrong-values",
        says="went to 2 group and 2 group + 1",
    ),
    Wrong(
        "LSE without the scale",
        [("logf(l);\n    }\n    //@stub", "logf(l) - scale * m + m;\n    }\n    //@stub")],
        kind="wrong-values",
        says="LSE is log(l) + m",
    ),
]
