from lanewise.exercise import Wrong

MAX = "        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));\n"
LOOP = "l += expf(S[j] - m);"
LAST = "P[j] = expf(S[j] - m) / l;"

WRONG = [
    Wrong(
        "no maximum",
        [(LOOP, "l += expf(S[j]);"), (LAST, "P[j] = expf(S[j]) / l;")],
        kind="wrong-values",
        says="P[2, 5] is nan",
    ),
    Wrong(
        "the maximum begins at 0",
        [("float m = -CUDART_INF_F;", "float m = 0.0f;")],
        kind="wrong-values",
        says="all around -200",
    ),
    Wrong(
        "every lane keeps its own maximum",
        [(MAX, "        fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));\n")],
        kind="wrong-values",
        says="P[0, 0]",
    ),
    Wrong(
        "only lane 0 knows the maximum",
        [("m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));", "m = fmaxf(m, __shfl_down_sync(0xffffffffu, m, w));")],
        kind="wrong-values",
        says="P[0, 0]",
    ),
    Wrong(
        "only lane 0 knows the sum",
        [("    for (int w = 16; w > 0; w /= 2) {\n        l += __shfl_xor_sync", "    for (int w = 16; w > 0; w /= 2) {\n        l += __shfl_down_sync")],
        kind="wrong-values",
        says="P[0",
    ),
    Wrong(
        "the sum without the maximum",
        [(LOOP, "l += expf(S[j]);")],
        kind="wrong-values",
        says="P[0, 0]",
    ),
    Wrong(
        "cuts large scores off",
        [(LOOP, "l += expf(fminf(S[j], 80.0f));"), (LAST, "P[j] = expf(fminf(S[j], 80.0f)) / l;")],
        kind="wrong-values",
        says="all around -200",
    ),
    Wrong(
        "a small number against the division by zero",
        [(LOOP, "l += expf(S[j]);"), (LAST, "P[j] = expf(S[j]) / (l + 1e-6f);")],
        kind="wrong-values",
        says="P[",
    ),
    Wrong(
        "no guard for the rows",
        [("if (row >= rows) return;", "")],
        kind="out-of-bounds",
        says="S[",
    ),
]
