from lanewise.exercise import Wrong

P0 = "const unsigned p[4] = {ptx::pack2(s[0][0], s[0][1], __half()),"
END = "ptx::pack2(s[1][2], s[1][3], __half())};\n        //@stub"
BETWEEN = ("ptx::pack2(s[0][2], s[0][3], __half()),", "ptx::pack2(s[1][0], s[1][1], __half()),")
REGISTERS = ("\n" + 31 * " ").join((P0, *BETWEEN, END))

DETOUR = """
        __shared__ unsigned Ps[4][32];
        for (int r = 0; r < 4; ++r) Ps[r][threadIdx.x] = p[r];
        __syncwarp();
        for (int r = 0; r < 4; ++r) p[r] = Ps[r][threadIdx.x];
"""


def repacked(*words):
    """An edit: the four registers from these elements of s, "00 01" being s[0][0] and s[0][1]; a fifth word names another type."""
    kind = words[4] if len(words) > 4 else "__half"
    packs = [f"ptx::pack2(s[{w[0]}][{w[1]}], s[{w[3]}][{w[4]}], {kind}())" for w in words[:4]]
    return [(REGISTERS, f"const unsigned p[4] = {{{', '.join(packs)}}};\n        //@stub")]


WRONG = [
    Wrong(
        "registers 1 and 2 change places", repacked("00 01", "10 11", "02 03", "12 13"), kind="wrong-values", says="A's registers 1 and 2 have changed places"
    ),
    Wrong("one pair the wrong way round", [(P0, P0.replace("s[0][0], s[0][1]", "s[0][1], s[0][0]"))], kind="wrong-values", says="O[0, 0] is"),
    Wrong(
        "the pairs the wrong way round", repacked("01 00", "03 02", "11 10", "13 12"), kind="wrong-values", says="The halves of the pairs have changed places"
    ),
    Wrong("pairs of two rows", repacked("00 02", "01 03", "10 12", "11 13"), kind="wrong-values", says="The pairs are of two rows"),
    Wrong("packed as bf16", repacked("00 01", "02 03", "10 11", "12 13", "__nv_bfloat16"), kind="wrong-values", says="packed as bf16"),
    Wrong("the first 8 keys twice", repacked("00 01", "02 03", "00 01", "02 03"), kind="wrong-values", says="The first 8 keys come twice"),
    Wrong("the second 8 keys first", repacked("10 11", "12 13", "00 01", "02 03"), kind="wrong-values", says="The two fragments of 8 keys"),
    Wrong(
        "through shared memory, to the same lane",
        [(P0, P0.replace("const ", "")), (END, END.replace("\n        //@stub", DETOUR + "        //@stub"))],
        kind="over-budget",
        says="a lane already holds what it needs",
    ),
]
