from lanewise.exercise import Wrong

WRONG = [
    Wrong("reads dP", [("dp += dOs[y][c] * Vs[x][c];", "dp += c == 0 && real ? dP[(size_t)i * Nk + j] : 0.0f;")], kind="over-budget", says="global_bytes"),
    Wrong("V from global memory", [("dp += dOs[y][c] * Vs[x][c];", "dp += real ? dOs[y][c] * V[j * d + c] : 0.0f;")], kind="over-budget", says="global_bytes"),
    Wrong("x and y swapped", [("dOs[y][c] * Vs[x][c]", "dOs[x][c] * Vs[y][c]")], kind="wrong-values", says="dK"),
    Wrong("Q for dO", [("dOs[y][c] * Vs[x][c]", "Qs[y][c] * Vs[x][c]")], kind="wrong-values", says="dK"),
    Wrong("dK without the scale", [("scale * k_sum[u]", "k_sum[u]")], kind="wrong-values", says="8 times"),
    Wrong("the first barrier missing", [("        __syncthreads();  // Vs, Qs and dOs are filled\n", "")], kind="race"),
    Wrong("the second barrier missing", [("        __syncthreads();  // Ps and dSs are filled\n", "")], kind="race"),
    Wrong("the third barrier missing", [("        __syncthreads();  // all are done with these 16 queries\n", "")], kind="race"),
]
