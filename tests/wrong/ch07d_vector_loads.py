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
        "steps by floats, not by float4",
        [("start + 4 * q);\n        b", "start + q);\n        b")],
        kind="misaligned",
        says="A",
    ),
    Wrong(
        "four loads of a float",
        [
            (
                "b[r][q] = *(const float4*)(B + (start + r) * cols + left + 4 * q);",
                "const float* p = B + (start + r) * cols + left + 4 * q;\n        b[r][q] = make_float4(p[0], p[1], p[2], p[3]);",
            )
        ],
        kind="over-budget",
        says="global_load_requests",
    ),
    Wrong(
        "four stores of a float",
        [
            (
                "*(float4*)(C + row * cols + left + 4 * q) = sum;",
                "float* p = C + row * cols + left + 4 * q;\n    p[0] = sum.x; p[1] = sum.y; p[2] = sum.z; p[3] = sum.w;",
            )
        ],
        kind="over-budget",
        says="global_store_requests",
    ),
    Wrong(
        "takes inner for the width of B",
        [("B + (start + r) * cols + left", "B + (start + r) * inner + left")],
        kind="out-of-bounds",
        says="B[",
    ),
    Wrong(
        "moves one float4 of the first step for all",
        [("A + row * inner + start + 4 * q", "A + row * inner + 4 * q")],
        kind="wrong-values",
        says="C[",
    ),
]
