from lanewise.exercise import Wrong

LAST = "    const int last = (min(first + Br, rows) - 1) / group;\n"
QUERY = "            const int query = (first + mine + i) / group;\n"
LOAD = "        const size_t at = ((size_t)(p / group) * H + p % group) * d + c;\n"
STORE = "        const size_t at = ((size_t)(p / group) * H + p % group) * d + lane;\n"
LSE = "    if (lane < 8 && p < rows) LSE[p % group * Nq + p / group] = lse;\n"

WRONG = [
    Wrong(
        "the query runs fastest, in the loads alone",
        [(LOAD, LOAD.replace("p / group", "p % Nq").replace("p % group", "p / Nq"))],
        kind="wrong-values", says="m expected",
    ),
    Wrong("stores as if nobody shared", [(STORE, "        const size_t at = (size_t)p * d + lane;\n")], kind="race", says="O["),
    Wrong("LSE row after row", [(LSE, "    if (lane < 8 && p < rows) LSE[p] = lse;\n")], kind="wrong-values", says="LSE[0, "),
    Wrong(
        "the mask counts rows, not queries",
        [(QUERY, "            const int query = first + mine + i;\n")],
        kind="wrong-values", says="Case 3 (3 heads share, causal)",
    ),
    Wrong("stops at the query of the first row", [(LAST, "    const int last = first / group;\n")], kind="wrong-values", says="Case 4 (rows without a key)"),
    Wrong("LSE past the end", [(LSE, LSE.replace("lane < 8 && p < rows", "lane < 8"))], kind="out-of-bounds", says="LSE["),
]
