from lanewise.exercise import Wrong

MASK = "s[i] = real ? scale * s[i] : -CUDART_INF_F;"

WRONG = [
    Wrong("keys past the end count as 0", [(MASK, "s[i] = real ? scale * s[i] : 0.0f;")], kind="wrong-values", says="Case 2 (one short of a tile)"),
    Wrong("one key too many", [("const bool real = start + lane < Nk;", "const bool real = start + lane <= Nk;")], kind="wrong-values", says="l expected"),
    Wrong(
        "forgets where the tile begins",
        [("const bool real = start + lane < Nk;", "const bool real = lane < Nk;")],
        kind="wrong-values", says="after key tile 2",
    ),
    Wrong("no partial tiles", [("start < Nk; start += Bc", "start + Bc <= Nk; start += Bc")], kind="wrong-values", says="Case 2 (one short of a tile)"),
    Wrong("writes rows that aren't there", [("        if (row < Nq) O[row", "        O[row")], kind="out-of-bounds", says="O["),
    Wrong(
        "writes LSE past the end",
        [("    if (lane < 8 && first + mine + lane < Nq) LSE", "    if (lane < 8) LSE")],
        kind="out-of-bounds",
        says="LSE[",
    ),
    Wrong(
        "leaves before the barrier",
        [("    for (int start = 0;", "    if (first + mine >= Nq) return;\n    for (int start = 0;")],
        kind="uninitialised-read",
        says="Ks",
    ),
]
