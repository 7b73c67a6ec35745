from lanewise.exercise import Wrong

LEAVE = "    if (first >= Nq) return;\n"
NQ = "    const int Nq = cu_q[blockIdx.z + 1] - s0;\n"
NK = "    const int Nk = cu_k[blockIdx.z + 1] - k0;\n"

WRONG = [
    Wrong("the end for the length", [(NQ, "    const int Nq = cu_q[blockIdx.z + 1];\n")], kind="out-of-bounds", says="Q["),
    Wrong("keys of all sequences", [(NK, "    const int Nk = cu_k[gridDim.z] - k0;\n")], kind="wrong-values", says="l expected"),
    Wrong("keys begin at the first sequence", [("k0 = cu_k[blockIdx.z];", "k0 = 0;")], kind="wrong-values", says="packed row 5"),
    Wrong("queries' places for the keys", [("k0 = cu_k[blockIdx.z];", "k0 = s0;")], kind="wrong-values", says="In head 0, packed row 1, after key tile 1"),
    Wrong(
        "heads before rows",
        [("    Q += ((size_t)s0 * H + head) * d;       // at my sequence's query 0\n", "    Q += ((size_t)head * cu_q[gridDim.z] + s0) * d;\n")],
        kind="out-of-bounds",
        says="Case 2 (2 heads, causal)",
    ),
    Wrong(
        "rows next to each other",
        [("((size_t)s0 * H + head) * d;       // at", "((size_t)s0 + head) * d;       // at")],
        kind="wrong-values", says="Case 2 (2 heads, causal)",
    ),
    Wrong("a thread leaves for itself", [(LEAVE, "    if (first + mine >= Nq) return;\n")], kind="uninitialised-read", says="Ks"),
]
