from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the first barrier",
        [("__syncthreads();  // every tile[]", "// every tile[]")],
        kind="race",
        says="tile",
    ),
    Wrong(
        "drop the second barrier",
        [("__syncthreads();  // every thread", "// every thread")],
        kind="race",
        says="tile",
    ),
    Wrong(
        "the barrier inside the guard",
        [
            ("tile[t] = x[start + t];             // tile[0 .. left - 1]", "tile[t] = x[start + t];\n            __syncthreads();"),
            ("__syncthreads();  // every tile[]", "// every tile[]"),
        ],
        kind="race",  # threads past the end don't wait for the one that fills the tile
        says="tile",
    ),
    Wrong(
        "the last tile taken for a full one",
        [("        for (int k = 0; k < left; ++k) {\n            sum", "        for (int k = 0; k < 128; ++k) {\n            sum")],
        kind="uninitialised-read",
        says="tile",
    ),
    Wrong(
        "a warp's barrier for the block's",
        [("__syncthreads();  // every thread", "__syncwarp();  // every thread")],
        kind="race",
        says="tile",
    ),
]
