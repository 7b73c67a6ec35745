from lanewise.exercise import Wrong

BEFORE = "__threadfence();  // whoever sees"
COUNT = "last = atomicAdd(done, 1) == gridDim.x - 1;"
AFTER = "__threadfence();  // if it is"
PART = "        part[blockIdx.x] = v;\n        __thread"

WRONG = [
    Wrong(
        "no fence before the number is taken",
        [(BEFORE, "// whoever sees")],
        kind="race",
        says="part[",
    ),
    Wrong(
        "the block with the highest number takes itself for the last",
        [(COUNT, "atomicAdd(done, 1);\n        last = blockIdx.x == gridDim.x - 1;")],
        kind="race",
        says="part[",
    ),
    Wrong(
        "counts without an atomic",
        [(COUNT, "last = (*done)++ == gridDim.x - 1;")],
        kind="race",
        says="done[",
    ),
    Wrong(
        "takes the number first, stores the part then",
        [(PART, "        __thread"), (AFTER, "part[blockIdx.x] = v;\n        " + AFTER)],
        kind="race",
        says="part[",
    ),
    Wrong(
        "drop the barrier before the warps' sums are read",
        [("__syncthreads();  // s[] holds", "// s[] holds")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "drop the barrier before `last` is read",
        [("__syncthreads();  // `last` is", "// `last` is")],
        kind="race",
        says="last",
    ),
    Wrong(
        "leaves done as it is",
        [("*done = 0;  //", "//")],
        kind="wrong-values",
        says="done[",
    ),
    Wrong(
        "reads 32 parts only",
        [("for (int b = lane; b < gridDim.x; b += 32) {", "for (int b = lane; b < min(32, gridDim.x); b += 32) {")],
        kind="wrong-values",
        says="total[0]",
    ),
    Wrong(
        "expects one more",
        [(COUNT, COUNT.replace(" - 1;", ";"))],
        kind="unwritten-output",
        says="total",
    ),
    Wrong(
        "every thread takes a number",
        [("    if (t == 0) {\n        v = 0.0f;", "    {\n        v = 0.0f;")],
        kind="race",
        says="last",
    ),
    Wrong(
        "adds up with atomics in any order",
        [("if (lane == 0) {\n            *total = v;", "atomicAdd(total, v);\n        if (lane == 0) {")],
        kind="uninitialised-read",
        says="total",
    ),
]
