from lanewise.exercise import Wrong

KEYS = "if (first_key + k / 16 < Nk) Ks"
QUERIES = "if (t < 128 && first_query + t / 16 < Nq) Qs"

WRONG = [
    Wrong(
        "drop the barrier",
        [("__syncthreads();", "")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "rows without padding",
        [("Ks[32][17], Qs[8][17]", "Ks[32][16], Qs[8][16]")],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong(
        "each lane fetches a row of its own",
        [
            ("Ks[k / 16][k % 16] = K[k];", "{ const int r = k % 32, c = k / 32; if (first_key + r < Nk) Ks[r][c] = K[r * 16 + c]; }"),
            ("if (first_key + k / 16 < Nk) ", ""),
        ],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "the tile for K alone",
        [("        const float4 a = Qs[y][c], b", "        const float4 a = Q[y * 16 + c], b")],
        kind="over-budget",
        says="global_load_sectors",
    ),
    Wrong(
        "no guard for the keys",
        [(KEYS, "Ks")],
        kind="out-of-bounds",
        says="K[",
    ),
    Wrong(
        "no guard for the queries",
        [(QUERIES, "if (t < 128) Qs")],
        kind="out-of-bounds",
        says="Q[",
    ),
    Wrong(
        "half of the keys",
        [("k < 512; k += 256", "k < 256; k += 256")],
        kind="uninitialised-read",
        says="Ks",
    ),
    Wrong(
        "without the scale",
        [("= scale * dot", "= dot")],
        kind="wrong-values",
        says="8 times what it should be",
    ),
    Wrong(
        "keys and queries changed over",
        [("        const float4 a = Qs[y][c], b = Ks[x][c];", "        const float4 a = Qs[x % 8][c], b = Ks[y][c];")],
        kind="wrong-values",
        says="S[0",
    ),
]
