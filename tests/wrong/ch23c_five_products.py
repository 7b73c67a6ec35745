from lanewise.exercise import Wrong

AGAIN = """        float s2[1][Bc / 8][4], dp2[1][Bc / 8][4];
        tiles::multiply_rows<d, 1, Bc>(s2, tiles::down<d>(Qs, mine), tiles::across<d>(Ks, 0), __half());
        tiles::multiply_rows<d, 1, Bc>(dp2, tiles::down<d>(dOs, mine), tiles::across<d>(Vs, 0), __half());
        for (int j = 0; j < Bc / 8; ++j)
            for (int e = 0; e < 4; ++e) weigh(s2[0][j][e], dp2[0][j][e], numbers[mine + lane / 4 + e / 2 * 8], scale2);
        tiles::pack<1, Bc>(a, dp2, __half());
        __syncthreads();
        float dq[1][d / 8][4] = {};
"""

WRONG = [
    Wrong("seven products", [("        float dq[1][d / 8][4] = {};\n", AGAIN)], kind="over-budget", says="flops"),
    Wrong(
        "not turned",
        [("ptx::ldmatrix_x4_trans(a[0][k], turned.at(warp)", "ptx::ldmatrix_x4(a[0][k], turned.at(warp)")],
        kind="wrong-values",
        says="stands as it was stored",
    ),
    Wrong(
        "the second and third matrix swapped",
        [("const auto turned = tiles::across<Br>", "const auto turned = tiles::down<Br>")],
        kind="wrong-values",
        says="The second and the third matrix have changed places",
    ),
    Wrong("all warps the same queries", [("turned.at(warp)", "turned.at(0)")], kind="wrong-values", says="the tile's first 16 queries"),
    Wrong(
        "keys and queries of the tile swapped",
        [("turned.at(warp) + 16 * k * Br * 2", "turned.at(k) + 16 * warp * Br * 2")],
        kind="wrong-values",
        says="The blocks of 16 keys and of 16 queries",
    ),
    Wrong("P for dS", [("ds16[0][j / 2][j % 2 * 2 + h];", "p16[0][j / 2][j % 2 * 2 + h];")], kind="wrong-values", says="dSs holds P"),
    Wrong("the two rows swapped", [("ds16[0][j / 2][j % 2 * 2 + h];", "ds16[0][j / 2][j % 2 * 2 + 1 - h];")], kind="wrong-values", says="Keys r and r + 8"),
    Wrong("each block for itself", [("atomicAdd(dQ + at, scale * x);", "dQ[at] += scale * x;")], kind="race", says="dQ"),
    Wrong("no barrier behind dS", [("        __syncthreads();  // dS^T of all 64 keys is there; all are done with Q\n", "")], kind="race"),
    Wrong("a warp's barrier behind dS", [("__syncthreads();  // dS^T of all 64 keys is there; all are done with Q", "__syncwarp();")], kind="race"),
    Wrong("the barrier after the copies missing", [("        __syncthreads();  // Q, dO and their numbers are here (K and V, too)\n", "")], kind="race"),
    Wrong("no wait for the copies", [("        ptx::cp_async_wait<0>();\n", "")], kind="async-copy"),
    Wrong("no commit", [("        ptx::cp_async_commit();\n", "")], kind="async-copy"),
]
