from lanewise.exercise import Wrong

WRONG = [
    Wrong("a weight for a masked pair", [("key < Nk && key <= row + shift;", "key < Nk;")], kind="wrong-values", says="causal"),
    Wrong("top-left", [("key <= row + shift;", "key <= row;")], kind="wrong-values", says="dQ"),
    Wrong("dS without P", [("dSs[y][x] = p * (dp - dlt)", "dSs[y][x] = seen ? dp - dlt : 0.0f")], kind="wrong-values", says="dQ"),
    Wrong("not normalised", [("expf(scale * s - lse)", "expf(scale * s)")], kind="wrong-values", says="dQ"),
    Wrong("forgets delta", [("p * (dp - dlt)", "p * dp")], kind="wrong-values", says="dQ"),
    Wrong("the sum over a quarter of a row", [("dlt += row < Nq ? O", "if (c < T) dlt += row < Nq ? O")], kind="wrong-values", says="delta"),
    Wrong("without the scale", [("= scale * q_sum[u];", "= q_sum[u];")], kind="wrong-values", says="8 times"),
    Wrong("V for K", [("ds * Ks[k]", "ds * Vs[k]")], kind="wrong-values", says="dQ"),
    Wrong("the wrong key head", [("blockIdx.y / group;", "blockIdx.y % kv_heads;")], kind="wrong-values", says="4 query heads on 2 key heads"),
    Wrong("the first barrier missing", [("        __syncthreads();  // all four tiles are filled\n", "")], kind="race"),
    Wrong("the last barrier missing", [("        __syncthreads();  // all are done with these 16 keys\n", "")], kind="race"),
]
