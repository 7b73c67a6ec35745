from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the barrier after the scores",
        [("__syncthreads();  // p[] holds the scores", "// p[] holds the scores")],
        kind="race",
        says="p[",
    ),
    Wrong(
        "changes p[] while others look for the maximum",
        [("__syncthreads();  // all threads have", "// all threads have")],
        kind="race",
        says="p[",
    ),
    Wrong(
        "drop the barrier after the weights",
        [("__syncthreads();  // p[] holds a weight", "// p[] holds a weight")],
        kind="race",
        says="p[",
    ),
    Wrong(
        "no maximum",
        [("float m = -CUDART_INF_F;", "float m = 0.0f;"), ("m = fmaxf(m, p[j]);", "m = fmaxf(0.0f, 0.0f * p[j]);")],
        kind="wrong-values",
        says="all around -200",
    ),
    Wrong(
        "the sum of the scores",
        [("        l += p[j];", "        l += S[j];")],
        kind="wrong-values",
        says="O[0",
    ),
    Wrong(
        "divides by the number of keys",
        [("acc / l", "acc / Nk")],
        kind="wrong-values",
        says="O[0",
    ),
    Wrong(
        "reads the scores three times",
        [("m = fmaxf(m, p[j]);", "m = fmaxf(m, S[j]);"), ("p[j] = expf(p[j] - m);\n    __syncthreads", "p[j] = expf(S[j] - m);\n    __syncthreads")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "the first 64 keys alone",
        [("for (int j = t; j < Nk; j += 64) p[j] = S[j];", "if (t < Nk) p[t] = S[t];")],
        kind="uninitialised-read",
        says="p[",
    ),
]
