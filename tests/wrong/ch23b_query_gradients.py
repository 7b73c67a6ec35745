from lanewise.exercise import Wrong

WRONG = [
    Wrong("dP from Q", [("(dp, dO_rows, V_rows,", "(dp, Q_rows, V_rows,")], kind="wrong-values", says="dQ"),
    Wrong("dP from K", [("(dp, dO_rows, V_rows,", "(dp, dO_rows, K_rows,")], kind="wrong-values", says="dQ"),
    Wrong("the other row's LSE", [("scale2 - its[e / 2].x", "scale2 - its[e % 2].x")], kind="wrong-values", says="dQ"),
    Wrong("the other row's delta", [("dp[0][j][e] - its[e / 2].y", "dp[0][j][e] - its[1 - e / 2].y")], kind="wrong-values", says="dQ"),
    Wrong("a weight for a key that isn't seen", [("seen ? ptx::exp2_approx(x) : 0.0f", "ptx::exp2_approx(x)")], kind="wrong-values", says="dQ"),
    Wrong("top-left", [("key <= query + Nk - Nq", "key <= query")], kind="wrong-values", says="dQ"),
    Wrong("forgets delta", [("p * (dp[0][j][e] - its[e / 2].y)", "p * dp[0][j][e]")], kind="wrong-values", says="dQ"),
    Wrong("dQ from V", [("(dq, ds16, K_columns,", "(dq, ds16, tiles::down<d>(Vs, 0),")], kind="wrong-values", says="dQ"),
    Wrong("B not turned", [("(dq, ds16, K_columns,", "(dq, ds16, K_rows,")], kind="wrong-values", says="dQ"),
    Wrong("P for dS", [("(ds16, dp,", "(ds16, s,")], kind="wrong-values", says="dQ"),
    Wrong("the barrier before the copies missing", [("        __syncthreads();  // all are done with the tile before\n", "")], kind="race"),
    Wrong("the barrier after the copies missing", [("        __syncthreads();  // K and V are here (Q and dO, too)\n", "")], kind="race"),
    Wrong("no wait for the copies", [("        ptx::cp_async_wait<0>();\n        __syncthreads();", "        __syncthreads();")], kind="async-copy"),
    Wrong("no commit", [("        ptx::cp_async_commit();\n", "")], kind="async-copy"),
]
