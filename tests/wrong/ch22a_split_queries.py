from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
OWN = "const int row = 16 * warp, key = 0;      // .. and the first of them"

WRONG = [
    Wrong("every warp takes the first rows", [(OWN, "const int row = 0, key = 0;")], kind="unwritten-output", says="O[16, 0]"),
    Wrong(
        "a quarter of the keys too",
        [("constexpr int rows = 16, keys = Bc;", "constexpr int rows = 16, keys = 16;"), (OWN, "const int row = 16 * warp, key = 16 * warp;")],
        kind="wrong-values",
        says="a quarter of each tile's keys",
    ),
    Wrong(
        "sums begin again with each tile",
        [("float(&part)[d / 8][4] = o[i];", "for (auto& x : o[i]) for (float& y : x) y = 0.0f; float(&part)[d / 8][4] = o[i];")],
        kind="wrong-values",
        says="That is the last tile alone",
    ),
    Wrong(
        "the keys are still split",
        [("constexpr int rows = 16, keys = Bc;", "constexpr int rows = Br, keys = 16;"), (OWN, "const int row = 0, key = 16 * warp;")],
        kind="race",
        says="O",
    ),
    Wrong(
        "column and row of C swapped",
        [("O[r * d + 8 * c + lane % 4 * 2 + e % 2] = o[0][c][e];", "O[r * d + 8 * c + lane % 4 * 2 + e / 2] = o[0][c][e];")],
        kind="unwritten-output",
        says="O[0, 1]",
    ),
    Wrong("no wait for the copies", [("ptx::cp_async_wait<0>();", "")], kind="async-copy", says="wait"),
    Wrong("no group to wait for", [("ptx::cp_async_commit();", "")], kind="async-copy", says="not finished"),
    Wrong("no barrier after the wait", [("__syncthreads();  // Q, K and V are here for all", "")], kind="race", says=BETWEEN),
    Wrong("refills what others read", [("__syncthreads();  // all are done with K and V: refill them", "")], kind="race", says=BETWEEN),
]
