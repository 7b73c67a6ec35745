from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "rows of the wrong length",
        [("out[row * width + col]", "out[row * height + col]")],
        kind="race",
        line="out[row * height + col]",
        says="out",
    ),
    Wrong(
        "column after column",
        [("out[row * width + col]", "out[col * height + row]")],
        kind="wrong-values",
        says="out",
    ),
    Wrong(
        "rows not guarded",
        [("col < width && row < height", "col < width")],
        kind="out-of-bounds",
        says="a[20",
    ),
    Wrong(
        "columns not guarded",
        [("col < width && row < height", "row < height")],
        kind="out-of-bounds",
        says="b[50",
    ),
    Wrong(
        "one guard is enough for this one",
        [("col < width && row < height", "col < width || row < height")],
        kind="out-of-bounds",
    ),
    Wrong(
        "x and y exchanged",
        [("const int col = blockIdx.x * blockDim.x + threadIdx.x;", "const int col = blockIdx.y * blockDim.y + threadIdx.y;"),
         ("const int row = blockIdx.y * blockDim.y + threadIdx.y;", "const int row = blockIdx.x * blockDim.x + threadIdx.x;")],
        kind="unwritten-output",
        says="out",
    ),
]
