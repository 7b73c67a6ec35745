from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "forgets the scale",
        [("        for (int i = 0; i < 8; ++i) s[i] *= scale;\n", "")],
        kind="wrong-values",
        says="In row 0, after key 1: score expected",
    ),
    Wrong(
        "scales twice",
        [("s[i] += Qs[mine + i][c] * key;", "s[i] += scale * Qs[mine + i][c] * key;")],
        kind="wrong-values",
        says="after key 1: score expected",
    ),
    Wrong(
        "my lane's query, my row's keys",
        [("const float key = Ks[lane][c];", "const float key = Qs[lane % Br][c];"), ("s[i] += Qs[mine + i][c] * key;", "s[i] += Ks[mine + i][c] * key;")],
        kind="wrong-values",
        says="score expected",
    ),
    Wrong(
        "the same row eight times",
        [("s[i] += Qs[mine + i][c] * key;", "s[i] += Qs[mine][c] * key;")],
        kind="wrong-values",
        says="In row 1, after key 1: score expected",
    ),
    Wrong(
        "one key too many",
        [("const float key = Ks[lane][c];", "const float key = Ks[lane + 1][c];")],
        kind="out-of-bounds",
        says="Ks",
    ),
    Wrong(
        "rows of 32",
        [("Ks[Bc][d + 1];", "Ks[Bc][d];")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "drops the first barrier",
        [("__syncthreads();  // Qs, Ks and Vs are filled", "")],
        kind="race",
        says="Qs",
    ),
]
