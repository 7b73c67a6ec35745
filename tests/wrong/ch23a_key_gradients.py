from lanewise.exercise import Wrong

NO_BARRIER = "__syncthreads();  // Q, dO and their numbers are here (K and V, too)"

WRONG = [
    Wrong(
        "exp instead of a power of 2",
        [("ptx::exp2_approx(s[0][j][e] * scale2 - its.x)", "expf(s[0][j][e] * scale2 - its.x)")],
        kind="wrong-values",
        says="The weights are powers of e",
    ),
    Wrong("scale for scale2", [(" * scale2 - its.x)", " * scale - its.x)")], kind="wrong-values", says="from scores times scale"),
    Wrong("not normalised", [(" * scale2 - its.x)", " * scale2)")], kind="wrong-values", says="The weights aren't normalised"),
    Wrong("forgets delta", [("p * (dp[0][j][e] - its.y)", "p * dp[0][j][e]")], kind="wrong-values", says="dS is P dP"),
    Wrong(
        "the difference the wrong way round", [("p * (dp[0][j][e] - its.y)", "p * (its.y - dp[0][j][e])")], kind="wrong-values", says="dS has the wrong sign"
    ),
    Wrong("dS without P", [("= p * (dp[0][j][e] - its.y)", "= dp[0][j][e] - its.y")], kind="wrong-values", says="dS is dp - delta"),
    Wrong(
        "the numbers of a key for those of a query",
        [("numbers[8 * j + lane % 4 * 2 + e % 2]", "numbers[lane / 4 + e / 2 * 8]")],
        kind="wrong-values",
        says="The numbers are those of a key's place",
    ),
    Wrong("dV from Q", [("(dv, p16, dO_columns,", "(dv, p16, Q_columns,")], kind="wrong-values", says="dK is right, and dV is P^T Q"),
    Wrong("dK from dO", [("(dk, ds16, Q_columns,", "(dk, ds16, dO_columns,")], kind="wrong-values", says="dK is dS^T dO"),
    Wrong("dK from P", [("(dk, ds16, Q_columns,", "(dk, p16, Q_columns,")], kind="wrong-values", says="dV is right, and dK is P^T Q"),
    Wrong(
        "B not turned",
        [("const auto Q_columns = tiles::down<d>(Qs, 0)", "const auto Q_columns = tiles::across<d>(Qs, 0)")],
        kind="wrong-values",
        says="so B is Q `down`",
    ),
    Wrong("without the scale", [("store(dK, dk, scale,", "store(dK, dk, 1.0f,")], kind="wrong-values", says="dK"),
    Wrong("the barrier before the copies missing", [("        __syncthreads();  // all are done with the tile before\n", "")], kind="race"),
    Wrong("the barrier after the copies missing", [(f"        {NO_BARRIER}\n", "")], kind="race"),
    Wrong("a warp's barrier after the copies", [(NO_BARRIER, "__syncwarp();")], kind="race"),
    Wrong("no wait for the copies", [("        ptx::cp_async_wait<0>();\n", "")], kind="async-copy"),
    Wrong("no commit", [("        ptx::cp_async_commit();\n", "")], kind="async-copy"),
    Wrong("one group left under way", [("ptx::cp_async_wait<0>();", "ptx::cp_async_wait<1>();")], kind="async-copy"),
]
