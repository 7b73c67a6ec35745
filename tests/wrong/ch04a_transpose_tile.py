from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the barrier",
        [("__syncthreads();", "")],
        kind="race",
        says="tile",
    ),
    Wrong(
        "rows of 32",
        [("tile[32][33]", "tile[32][32]")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "lanes run down the columns of out",
        [
            ("if (left + r < width && top + x < height) {", "if (left + x < width && top + r < height) {"),
            ("out[(left + r) * height + top + x] = tile[x][r];", "out[(left + x) * height + top + r] = tile[r][x];"),
        ],
        kind="over-budget",
        says="global_store_sectors",
    ),
    Wrong(
        "the second guard like the first",
        [("if (left + r < width && top + x < height) {", "if (top + r < height && left + x < width) {")],
        kind="uninitialised-read",
        says="tile",
    ),
    Wrong(
        "reads without a guard",
        [("if (top + r < height && left + x < width) {", "{")],
        kind="out-of-bounds",
        says="in[",
    ),
    Wrong(
        "three of four rows",
        [("for (int r = y; r < 32; r += 8) {\n        // Excluded", "for (int r = y; r < 24; r += 8) {\n        // Excluded")],
        kind="uninitialised-read",
        says="tile",
    ),
    Wrong(
        "swaps inside the tile only",
        [("out[(left + r) * height + top + x] = tile[x][r];", "out[(left + r) * height + top + x] = tile[r][x];")],
        kind="wrong-values",
        says="out",
    ),
]
