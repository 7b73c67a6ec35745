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
        "reads the floats of b anew for each row",
        [
            (
                "for (int i = 0; i < 4; ++i) {\n                sum[i][0]",
                "#pragma unroll 1\n            for (int i = 0; i < 4; ++i) {\n                sum[i][0]",
            ),
            ("mine[i] * c4.x;", "mine[i] * ((volatile float*)&b[k][x])[0];"),
        ],
        kind="over-budget",
        says="shared_load_requests",
    ),
    Wrong(
        "lanes read a down its columns",
        [("const float4 r4 = *(const float4*)&a[k][y];", "const float4 r4 = *(const float4*)&a[k][x];")],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "rows and columns of the small tile swapped",
        [
            ("sum[i][0] += mine[i] * c4.x;", "sum[0][i] += mine[i] * c4.x;"),
            ("sum[i][1] += mine[i] * c4.y;", "sum[1][i] += mine[i] * c4.y;"),
            ("sum[i][2] += mine[i] * c4.z;", "sum[2][i] += mine[i] * c4.z;"),
            ("sum[i][3] += mine[i] * c4.w;", "sum[3][i] += mine[i] * c4.w;"),
        ],
        kind="wrong-values",
        says="C[",
    ),
    Wrong(
        "stores float by float",
        [
            (
                "*(float4*)(C + (top + y + i) * cols + left + x) =\n            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);",
                "for (int j = 0; j < 4; ++j)\n            C[(top + y + i) * cols + left + x + j] = sum[i][j];",
            )
        ],
        kind="over-budget",
        says="global_store_requests",
    ),
    Wrong(
        "all four rows into the first",
        [("(top + y + i) * cols", "(top + y) * cols")],
        kind="unwritten-output",
        says="C",
    ),
]
