from lanewise.exercise import Wrong

LOAD = "const float4 p = ((const float4*)particle)[i];"

WRONG = [
    Wrong(
        "four loads of four bytes",
        [(LOAD, "const float* a = particle + 4 * i;\n        const float4 p = make_float4(a[0], a[1], a[2], a[3]);")],
        kind="over-budget",
        says="global_load_requests",
    ),
    Wrong(
        "stores structs again",
        [
            ("plane[0 * n + i]", "plane[4 * i]"),
            ("plane[1 * n + i]", "plane[4 * i + 1]"),
            ("plane[2 * n + i]", "plane[4 * i + 2]"),
            ("plane[3 * n + i]", "plane[4 * i + 3]"),
        ],
        kind="wrong-values",
        says="plane[0, 1]",
    ),
    Wrong(
        "counts float4 as floats",
        [("((const float4*)particle)[i]", "((const float4*)particle)[4 * i]")],
        kind="out-of-bounds",
        says="particle[",
    ),
    Wrong(
        "a float4 at every float",
        [("((const float4*)particle)[i]", "*(const float4*)(particle + i)")],
        kind="misaligned",
        says="particle",
    ),
    Wrong(
        "drops the guard",
        [("if (i < n) {", "{")],
        kind="out-of-bounds",
        says="particle",
    ),
    Wrong(
        "forgets the masses",
        [("plane[3 * n + i] = p.w;", "")],
        kind="unwritten-output",
        says="plane[3, 0]",
    ),
]
