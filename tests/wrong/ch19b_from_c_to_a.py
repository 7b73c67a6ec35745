from lanewise.exercise import Wrong

P1 = "ptx::pack2(s[0][2], s[0][3], __half()),"
P2 = "ptx::pack2(s[1][0], s[1][1], __half()),"
P0 = "const unsigned p[4] = {ptx::pack2(s[0][0], s[0][1], __half()),"
LAST = "ptx::pack2(s[1][2], s[1][3], __half())};"
END = "ptx::pack2(s[1][2], s[1][3], __half())};\n        //@stub"

DETOUR = """
        __shared__ unsigned Ps[4][32];
        for (int r = 0; r < 4; ++r) Ps[r][threadIdx.x] = p[r];
        __syncwarp();
        for (int r = 0; r < 4; ++r) p[r] = Ps[r][threadIdx.x];
"""

WRONG = [
    Wrong(
        "registers 1 and 2 change places",
        [(P1, "ptx::pack2(s[1][0], s[1][1], __half()), //"), (P2, "ptx::pack2(s[0][2], s[0][3], __half()), //")],
        kind="wrong-values",
    ),
    Wrong("halves of a pair change places", [(P0, P0.replace("s[0][0], s[0][1]", "s[0][1], s[0][0]"))], kind="wrong-values", says="O[0, 0] is"),
    Wrong("pairs of two rows", [(P0, P0.replace("s[0][1]", "s[0][2]")), (P1, P1.replace("s[0][2]", "s[0][1]"))], kind="wrong-values"),
    Wrong("packed as bf16", [(P0, P0.replace("__half", "__nv_bfloat16"))], kind="wrong-values"),
    Wrong("the first 8 keys twice", [(P2, P2.replace("s[1]", "s[0]")), (END, END.replace("s[1]", "s[0]"))], kind="wrong-values"),
    Wrong(
        "through shared memory, to the same lane",
        [(P0, P0.replace("const ", "")), (END, END.replace("\n        //@stub", DETOUR + "        //@stub"))],
        kind="over-budget",
        says="a lane already holds what it needs",
    ),
]
