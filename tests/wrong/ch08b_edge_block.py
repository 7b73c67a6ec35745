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
        "asks for the rows alone",
        [("if (row < rows && col < cols) {", "if (row < rows) {")],
        kind="out-of-bounds",
        says="C[",
    ),
    Wrong(
        "asks for the columns alone",
        [("if (row < rows && col < cols) {", "if (col < cols) {")],
        kind="out-of-bounds",
        says="C[",
    ),
    Wrong(
        "only threads with all 16 elements write",
        [("if (row < rows && col < cols) {", "if (top + y + 3 < rows && left + x + 3 < cols) {")],
        kind="unwritten-output",
        says="C",
    ),
    Wrong(
        "asks whether the place lies in C at all",
        [("if (row < rows && col < cols) {", "if (row * cols + col < rows * cols) {")],
        kind="race",  # an element past a row's end is the next row's first
        says="C[",
    ),
    Wrong(
        "one row too few",
        [("if (row < rows && col < cols) {", "if (row < rows - 1 && col < cols) {")],
        kind="unwritten-output",
        says="C",
    ),
]
