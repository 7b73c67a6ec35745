from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the barrier",
        [("__syncthreads();", "")],
        kind="race",
        says="tile",
    ),
    Wrong(
        "pads the rows by a float4",
        [
            ("tile[192 * 16]", "tile[192 * 17]"),
            ("const int slot = q ^ (row % 8);", "const int slot = q;"),
            ("tile[row * 16 + slot]", "tile[row * 17 + slot]"),
            ("const int slot = q ^ (t % 8);", "const int slot = q;"),
            ("tile[t * 16 + slot]", "tile[t * 17 + slot]"),
        ],
        kind="launch-refused",
        says="shared",
    ),
    Wrong(
        "mixes on one side only",
        [("const int slot = q ^ (t % 8);", "const int slot = q;")],
        kind="wrong-values",
        says="dot",
    ),
    Wrong(
        "mixes in what eight neighbours have in common",
        [("q ^ (row % 8)", "q ^ (row / 8 % 8)"), ("q ^ (t % 8)", "q ^ (t / 8 % 8)")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "mixes in too few rows",
        [("q ^ (row % 8)", "q ^ (row % 4)"), ("q ^ (t % 8)", "q ^ (t % 4)")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "copies rows that aren't there",
        [("if (first + row < rows) {", "{")],
        kind="out-of-bounds",
        says="x[",
    ),
]
