from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "loads one element a thread of K and V",
        [("for (int k = t; k < Bc * d; k += 32) {", "for (int k = t; k < 32; k += 32) {")],
        kind="uninitialised-read",
        says="Ks",
    ),
    Wrong(
        "loads one element a thread of Q",
        [("for (int k = t; k < Br * d; k += 32) {", "for (int k = t; k < 32; k += 32) {")],
        kind="uninitialised-read",
        says="Qs",
    ),
    Wrong("the tail is cut off", [("(Nk + Bc - 1) / Bc", "Nk / Bc")], kind="wrong-values", says="Case 2 (fewer keys than a tile)"),
    Wrong(
        "keys past the end count as 0",
        [("S[t][j] = start + j < Nk ? scale * s : -CUDART_INF_F;", "S[t][j] = scale * s;")],
        kind="wrong-values",
        says="In row 0, after key tile 1: ",
    ),
    Wrong("no scale", [("? scale * s :", "? s :")], kind="wrong-values", says="In row 0, after key tile 1: m expected"),
    Wrong(
        "one maximum for all rows",
        [
            (
                "        const float m_new = fmaxf(m, top);",
                "        for (int w = 16; w > 0; w /= 2) {\n"
                "            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, w));\n        }\n        const float m_new = fmaxf(m, top);",
            )
        ],
        kind="wrong-values",
        says="Case 3 (one row far below the others)",
    ),
    Wrong("refills while others read", [("__syncthreads();  // all are done with Ks and Vs: refill them", "")], kind="race", says="before the loop comes back"),
    Wrong("no first barrier", [("__syncthreads();  // Qs, Ks and Vs are filled", "")], kind="race", says="Qs"),
    Wrong("rows past the end are written", [("if (row < Nq) {\n        for", "{\n        for")], kind="out-of-bounds", says="O["),
]
