from lanewise.exercise import Wrong

JOIN = "l = l * expf(m - m_new) + l_other * expf(m_other - m_new);"

OTHER = "const float l_other = __shfl_xor_sync(0xffffffffu, l, w);"

WRONG = [
    Wrong(
        "adds the sums up as they are",
        [(JOIN, "l = l + l_other;")],
        kind="wrong-values",
        says="after stage 2: m expected",
    ),
    Wrong(
        "rescales its own sum alone",
        [(JOIN, "l = l * expf(m - m_new) + l_other;")],
        kind="wrong-values",
        says="after stage 2: m expected",
    ),
    Wrong(
        "averages the sums",
        [(JOIN, "l = (l * expf(m - m_new) + l_other * expf(m_other - m_new)) / 2;")],
        kind="wrong-values",
        says="after stage 2: m expected",
    ),
    Wrong(
        "joins empty lanes",
        [("        if (m_new > -CUDART_INF_F) {    // at", "        {    // at")],
        kind="wrong-values",
        says="No key is allowed so far",
    ),
    Wrong(
        "shuffles inside the branch",
        [
            (f"{OTHER}\n        const float m_new", "const float m_new"),
            (JOIN, f"{OTHER} {JOIN}"),
        ],
        kind="warp-mask",
        says="__shfl_xor_sync",
    ),
    Wrong(
        "keeps its own maximum",
        [("l_other * expf(m_other - m_new);\n            m = m_new;", "l_other * expf(m_other - m_new);")],
        kind="wrong-values",
        says="after stage 2: m expected",
    ),
    Wrong(
        "joins the same two lanes in every stage",
        [("__shfl_xor_sync(0xffffffffu, m, w);\n        const float l_other = __shfl_xor_sync(0xffffffffu, l, w);",
          "__shfl_xor_sync(0xffffffffu, m, 16);\n        const float l_other = __shfl_xor_sync(0xffffffffu, l, 16);")],
        kind="wrong-values",
        says="after stage 3: m expected",
    ),
    Wrong(
        "four stages",
        [("for (int w = 16; w > 0; w /= 2)", "for (int w = 16; w > 1; w /= 2)")],
        kind="wrong-values",
        says="LSE[0]",
    ),
]
