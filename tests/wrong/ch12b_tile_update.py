from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "forgets to rescale l",
        [("l[i] = l[i] * shrink + l_tile;", "l[i] += l_tile;")],
        kind="wrong-values",
        says="That is l with the old sum not rescaled",
    ),
    Wrong(
        "forgets to rescale acc",
        [("            acc[i] *= shrink;\n", "")],
        kind="wrong-values",
        says="That is acc with the old sum not rescaled",
    ),
    Wrong(
        "rescales the other way round",
        [("expf(m[i] - m_new);  // first tile: 0", "tile == 0 ? 0.0f : expf(m_new - m[i]);")],
        kind="wrong-values",
        says="the other way round",
    ),
    Wrong(
        "loses the earlier tiles' l",
        [("l[i] = l[i] * shrink + l_tile;", "l[i] = l_tile;")],
        kind="wrong-values",
        says="That is the newest part alone: the l of the earlier steps is lost",
    ),
    Wrong(
        "the maximum of this tile alone",
        [("float m_new = fmaxf(m[i], s[i]);", "float m_new = s[i];")],
        kind="wrong-values",
        says="m fell: it is the largest score of all keys so far",
    ),
    Wrong(
        "never keeps the new maximum",
        [("            m[i] = m_new;\n", "")],
        kind="wrong-values",
        says="after key tile 1: m expected",
    ),
    Wrong(
        "each lane has a maximum of its own",
        [
            (
                "for (int w = 16; w > 0; w /= 2) {\n                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));\n            }\n",
                "",
            )
        ],
        kind="wrong-values",
        says="after key tile 1: m expected",
    ),
    Wrong(
        "each lane sums its own keys",
        [("for (int w = 16; w > 0; w /= 2) {\n                l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);\n            }\n", "")],
        kind="wrong-values",
        says="after key tile 1: m expected",
    ),
    Wrong(
        "half a warp exchanges",
        [("for (int w = 16; w > 0; w /= 2) {\n                l_tile", "for (int w = 8; w > 0; w /= 2) {\n                l_tile")],
        kind="wrong-values",
        says="l expected",
    ),
    Wrong(
        "weights in another row's place",
        [("Ps[mine + i][lane] = p;", "Ps[mine + lane % 8][i] = p;")],
        kind="race",
        says="Ps",
    ),
]
