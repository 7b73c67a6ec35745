from lanewise.exercise import Wrong

WEIGHT = "seen ? expf(scale * s - lse) : 0.0f;"
WRONG = [
    Wrong("-infinity minus -infinity", [(WEIGHT, "expf((seen ? scale * s : -CUDART_INF_F) - lse);")], kind="wrong-values", says="NaN"),
    Wrong("a very negative score", [(WEIGHT, "expf((seen ? scale * s : -1e9f) - lse);")], kind="wrong-values", says="inf"),
    Wrong("an LSE of 0 for them, and no mask", [(WEIGHT, "expf(scale * s - (lse == -CUDART_INF_F ? 0.0f : lse));")], kind="wrong-values", says="dK"),
    Wrong("masks dS alone", [("Ps[y][x] = p;", "Ps[y][x] = expf(scale * s - lse);")], kind="wrong-values", says="dV"),
    Wrong("top-left", [("j <= i + Nk - Nq;", "j <= i;")], kind="wrong-values", says="fewer queries than keys"),
    Wrong("dK without the scale", [("scale * k_sum[u]", "k_sum[u]")], kind="wrong-values", says="dK"),
    Wrong("the first barrier missing", [("        __syncthreads();  // all four tiles are filled\n", "")], kind="race"),
    Wrong("the second barrier missing", [("        __syncthreads();  // Ps and dSs are filled\n", "")], kind="race"),
    Wrong("the third barrier missing", [("        __syncthreads();  // all are done with these 16 queries\n", "")], kind="race"),
]
