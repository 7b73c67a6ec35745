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
        "threads without an element leave",
        [("const bool mine = row < rows && col < cols;", "const bool mine = row < rows && col < cols;\n    if (!mine) return;")],
        kind="uninitialised-read",
        says="b[",
    ),
    Wrong(
        "guards the loads, stores nothing past the edge",
        [
            ("a[y][x] = in_a ? A[row * inner + start + x] : 0.0f;", "if (in_a) a[y][x] = A[row * inner + start + x];"),
            ("b[y][x] = in_b ? B[(start + y) * cols + col] : 0.0f;", "if (in_b) b[y][x] = B[(start + y) * cols + col];"),
        ],
        kind="uninitialised-read",
        says="[",
    ),
    Wrong(
        "no limit along inner for A",
        [("const bool in_a = row < rows && start + x < inner;", "const bool in_a = row < rows;")],
        kind="out-of-bounds",
        says="A[",
    ),
    Wrong(
        "no limit along inner for B",
        [("const bool in_b = start + y < inner && col < cols;", "const bool in_b = col < cols;")],
        kind="out-of-bounds",
        says="B[",
    ),
    Wrong(
        "past a row of A comes the next row, times the zeros of B",
        [("const bool in_a = row < rows && start + x < inner;", "const bool in_a = row * inner + start + x < rows * inner;")],
        kind="wrong-values",  # 0 times infinity is NaN
        says="C[",
    ),
    Wrong(
        "writes without a guard",
        [("if (mine) {", "{")],
        kind="out-of-bounds",
        says="C[",
    ),
    Wrong(
        "the guard has rows and columns swapped",
        [("const bool mine = row < rows && col < cols;", "const bool mine = row < cols && col < rows;")],
        kind="unwritten-output",
        says="C",
    ),
    Wrong(
        "leaves the last, short step out",
        [("start < inner; start += 16", "start + 16 <= inner; start += 16")],
        kind="wrong-values",
        says="C[",
    ),
]
