from lanewise.exercise import Wrong

INNER = "            if (r < left) acc[r] += P[(size_t)r * Nk + j] * v;"

WRONG = [
    Wrong(
        "fetches V for every row",
        [(INNER, "            if (r < left) acc[r] += P[(size_t)r * Nk + j] * ((volatile const float*)V)[(size_t)j * d];")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "saves half of the work, too",
        [("for (int j = 0; j < Nk; ++j) {\n        const float v", "for (int j = 0; j < Nk; j += 2) {\n        const float v")],
        kind="wrong-values",
        says="O[0",
    ),
    Wrong(
        "no guard for the rows",
        [(INNER, INNER.replace("if (r < left) ", ""))],
        kind="out-of-bounds",
        says="P[",
    ),
    Wrong(
        "writes rows that aren't there",
        [("if (r < left) O[", "O[")],
        kind="out-of-bounds",
        says="O[",
    ),
    Wrong(
        "one accumulator for four rows",
        [("acc[r] += P[(size_t)r * Nk + j] * v;", "acc[0] += P[(size_t)r * Nk + j] * v;")],
        kind="wrong-values",
        says="O[0",
    ),
    Wrong(
        "a row's weights taken for a column's",
        [("if (r < left) acc[r] += P[(size_t)r * Nk + j] * v;", "if (r < left) acc[r] += P[(size_t)j * left + r] * v;")],
        kind="wrong-values",
        says="O[0",
    ),
]
