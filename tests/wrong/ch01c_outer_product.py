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
        [("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.Y * blockDim.Y + threadIdx.Y"),
         ("blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.x * blockDim.x + threadIdx.x"),
         ("blockIdx.Y * blockDim.Y + threadIdx.Y", "blockIdx.y * blockDim.y + threadIdx.y")],
        kind="unwritten-output",
        says="out",
    ),
]
