from lanewise.exercise import Wrong

PICK = "const int i = first + k * 128 + t;"

WRONG = [
    Wrong(
        "a chunk a thread",
        [(PICK, "const int i = first + 4 * t + k;")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "neighbours in pairs only",
        [(PICK, "const int i = first + k / 2 * 256 + 2 * t + k % 2;")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "lanes of a warp far apart",
        [(PICK, "const int i = first + t % 32 * 16 + t / 32 * 4 + k;")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "steps of a warp instead of a block",
        [(PICK, "const int i = first + k * 32 + t;")],
        kind="unwritten-output",
        says="y[",
    ),
    Wrong(
        "guards the thread's first element only",
        [("if (i < n) {", "if (first + t < n) {")],
        kind="out-of-bounds",
        says="x[",
    ),
    Wrong(
        "three of four",
        [("k < 4", "k < 3")],
        kind="unwritten-output",
        says="y[",
    ),
]
