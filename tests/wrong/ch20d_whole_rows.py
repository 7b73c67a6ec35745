from lanewise.exercise import Wrong

STORE = "ptx::stmatrix_x4(at + place(lane % 16, j + lane / 16),"
PLAIN = "ptx::stmatrix_x4(at + lane % 16 * 128 + (j + lane / 16) * 16,"
DONE = ("    unsigned r[8][2];", "    __syncwarp();\n    unsigned r[8][2];")
ORDER = "r[j][0], r[j][1], r[j + 1][0], r[j + 1][1]);"

WRONG = [
    Wrong(
        "matrices in K's order",
        [(ORDER, "r[j][0], r[j + 1][0], r[j][1], r[j + 1][1]);")],
        kind="wrong-values",
        says="the second and the third have changed places",
    ),
    Wrong("over Q while others read it", [(STORE, PLAIN)], kind="race"),
    Wrong("stores plainly, reads swizzled", [(STORE, PLAIN), DONE], kind="wrong-values", says="with one layout and read with another"),
    Wrong(
        "plain both times",
        [
            (STORE, PLAIN),
            DONE,
            ("*(const uint4*)(tile + place(p / 8, p % 8));", "*(const uint4*)(tile + p * 16);"),
        ],
        kind="over-budget",
        says="shared_store_wavefronts",
    ),
    Wrong("over K's rows", [(STORE, STORE.replace("place(lane % 16,", "place(32 + lane % 16,")), DONE], kind="wrong-values", says="That is Q"),
    Wrong("writes rows past the last query", [("if (first + p / 8 < Nq)", "if (first + p / 8 < Nq + 1)")], kind="out-of-bounds", says="S["),
    Wrong("reads S before it is stored", [("    __syncwarp();  // S is in shared memory\n", "")], kind="race"),
    Wrong("no barrier after the tile is filled", [("    __syncwarp();  // the tile is filled\n", "")], kind="race"),
]
