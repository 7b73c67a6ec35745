from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the first barrier",
        [("__syncthreads();  // every a[][]", "// every a[][]")],
        kind="race",
        says="race on ",
    ),
    Wrong(
        "drop the second barrier",
        [("__syncthreads();  // every thread", "// every thread")],
        kind="race",
        says="race on ",
    ),
    Wrong(
        "one tile a step, four pieces all the same",
        [
            ("// rows top + y, + 8, + 16, + 24\n", "\n    for (int p = 0; p < 4; ++p)\n"),
            ("sum[i] += a[y + 8 * i][k] * b[k][x];", "sum[i] += i == p ? a[y + 8 * i][k] * b[k][x] : 0.0f;"),
        ],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "fills a quarter of each tile",
        [("for (int i = 0; i < 4; ++i) {\n            const int r", "for (int i = 0; i < 1; ++i) {\n            const int r")],
        kind="uninitialised-read",
        says="[",
    ),
    Wrong(
        "four neighbouring rows a thread when it adds, 8 apart when it writes",
        [("a[y + 8 * i][k]", "a[4 * y + i][k]")],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "one sum for four elements",
        [("sum[i] += a[y", "sum[0] += a[y"), ("= sum[i];", "= sum[0];")],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "writes one element of four",
        [("    for (int i = 0; i < 4; ++i) {\n        C[", "    for (int i = 0; i < 1; ++i) {\n        C[")],
        kind="unwritten-output",
        says="C",
    ),
    Wrong(
        "the elements of B read straight from global memory",
        [("sum[i] += a[y + 8 * i][k] * b[k][x]", "sum[i] += a[y + 8 * i][k] * B[(start + k) * cols + col]")],
        kind="over-budget",
        says="global_load_sectors",
    ),
]
