from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "one by one",
        [("if (4 * q + 3 < n) {", "if (q < 0) {")],
        kind="over-budget",
        says="global_load_requests",
    ),
    Wrong(
        "the last float4 hangs over the end",
        [("4 * q + 3 < n", "4 * q < n")],
        kind="out-of-bounds",
        says="x[",
    ),
    Wrong(
        "the rest is forgotten",
        [("            y[i] = factor * x[i];", "")],
        kind="unwritten-output",
        says="y[",
    ),
    Wrong(
        "rows again",
        [
            ("const int n = rows * cols;", "const int per_row = (cols + 3) / 4, n = rows * per_row * 4, at = q / per_row * cols + 4 * (q % per_row);"),
            ("((const float4*)x)[q]", "*(const float4*)(x + at)"),
            ("((float4*)y)[q]", "*(float4*)(y + at)"),
        ],
        kind="misaligned",
        says="x[",
    ),
    Wrong(
        "starts the rest one float4 late",
        [("int i = 4 * q;", "int i = 4 * q + 4;")],
        kind="unwritten-output",
        says="y[",
    ),
    Wrong(
        "forgets one member",
        [("v.z *= factor, v.w *= factor;\n        ((", "v.z *= factor;\n        ((")],
        kind="wrong-values",
        says="y[0, 3]",
    ),
]
