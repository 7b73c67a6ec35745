from lanewise.exercise import Wrong

DIFFERENCE = "p * (dp[0][j][e] - its[e / 2].y)"

WRONG = [
    Wrong("dP from Q", [("(dp, dO_rows, V_rows,", "(dp, Q_rows, V_rows,")], kind="wrong-values", says="That is dQ with dP = Q V^T"),
    Wrong("dP from K", [("(dp, dO_rows, V_rows,", "(dp, dO_rows, K_rows,")], kind="wrong-values", says="That is dQ with dP = dO K^T"),
    Wrong("an LSE by e % 2", [("scale2 - its[e / 2].x", "scale2 - its[e % 2].x")], kind="wrong-values", says="the LSE of another row in places"),
    Wrong("a delta by e % 2", [("dp[0][j][e] - its[e / 2].y", "dp[0][j][e] - its[e % 2].y")], kind="wrong-values", says="the delta of another row in places"),
    Wrong("the other row's LSE", [("scale2 - its[e / 2].x", "scale2 - its[1 - e / 2].x")], kind="wrong-values", says="the LSE of the thread's other row"),
    Wrong(
        "the other row's delta",
        [("dp[0][j][e] - its[e / 2].y", "dp[0][j][e] - its[1 - e / 2].y")],
        kind="wrong-values",
        says="the delta of the thread's other row",
    ),
    Wrong(
        "a weight for a key that isn't seen",
        [("seen ? ptx::exp2_approx(x) : 0.0f", "ptx::exp2_approx(x)")],
        kind="wrong-values",
        says="a weight for keys that the query doesn't see",
    ),
    Wrong("top-left", [("key <= query + Nk - Nq", "key <= query")], kind="wrong-values", says="the mask aligned top-left"),
    Wrong("forgets delta", [(DIFFERENCE, "p * dp[0][j][e]")], kind="wrong-values", says="with dS = P dP: the delta"),
    Wrong("delta behind the weight", [(DIFFERENCE, "p * dp[0][j][e] - its[e / 2].y")], kind="wrong-values", says="with dS = P dP - delta"),
    Wrong("adds delta", [(DIFFERENCE, "p * (dp[0][j][e] + its[e / 2].y)")], kind="wrong-values", says="with delta added"),
    Wrong("the difference the wrong way round", [(DIFFERENCE, "p * (its[e / 2].y - dp[0][j][e])")], kind="wrong-values", says="That is minus dQ"),
    Wrong("the mask alone", [(DIFFERENCE, "seen ? dp[0][j][e] : 0.0f")], kind="wrong-values", says="without the weights"),
    Wrong("P for dS", [(DIFFERENCE, "p")], kind="wrong-values", says="That is P K"),
    Wrong("S for dS", [("(ds16, dp,", "(ds16, s,")], kind="wrong-values", says="That is S K"),
    Wrong("dQ from V", [("(dq, ds16, K_columns,", "(dq, ds16, tiles::down<d>(Vs, 0),")], kind="wrong-values", says="That is dQ = dS V"),
    Wrong("B not turned", [("(dq, ds16, K_columns,", "(dq, ds16, K_rows,")], kind="wrong-values", says="B is K_columns, not K_rows"),
    Wrong("powers of e", [("ptx::exp2_approx(x)", "__expf(x)")], kind="wrong-values", says="with weights e^x"),
    Wrong("scale for scale2", [("s[0][j][e] * scale2 - ", "s[0][j][e] * scale - ")], kind="wrong-values", says="with scores times scale"),
    Wrong("the barrier before the copies missing", [("        __syncthreads();  // all are done with the tile before\n", "")], kind="race"),
    Wrong("the barrier after the copies missing", [("        __syncthreads();  // K and V are here (Q and dO, too)\n", "")], kind="race"),
    Wrong("no wait for the copies", [("        ptx::cp_async_wait<0>();\n        __syncthreads();", "        __syncthreads();")], kind="async-copy"),
    Wrong("no commit", [("        ptx::cp_async_commit();\n", "")], kind="async-copy"),
]
