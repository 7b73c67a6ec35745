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
        "rows of 32 for both tiles",
        [("float b[32][33]", "float b[32][32]")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "pads the other tile",
        [("a[32][32];\n    __shared__ float b[32][33]", "a[32][33];\n    __shared__ float b[32][32]")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "lanes run down a column of B",
        [("b[y][x] = B[(left + y) * inner + start + x];", "b[x][y] = B[(left + x) * inner + start + y];")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "B as if it were not transposed",
        [("b[y][x] = B[(left + y) * inner + start + x];", "b[x][y] = B[(start + y) * cols + left + x];")],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "the row of B chosen by the warp",
        [("a[y][k] * b[x][k]", "a[x][k] * b[y][k]")],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "adds up the last step only",
        [("        a[y][x] = A[", "        sum = 0.0f;\n        a[y][x] = A[")],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "walks along A with the wrong stride",
        [("A[(top + y) * inner + start + x]", "A[(top + y) * cols + start + x]")],
        kind="out-of-bounds",
        says="A[",
    ),
]
