from lanewise.exercise import Wrong

TOPS = "__syncthreads();  // tops[] holds"
SUMS = "__syncthreads();  // sums[] holds"

WRONG = [
    Wrong(
        "drop the barrier before the maxima are read",
        [(TOPS, "// tops[] holds")],
        kind="race",
        says="tops[",
    ),
    Wrong(
        "drop the barrier before the sums are read",
        [(SUMS, "// sums[] holds")],
        kind="race",
        says="sums[",
    ),
    Wrong(
        "one place for both, without a third barrier",
        [("sums[warp] = part;", "tops[warp] = part;"), ("(sums[0] + sums[1] + sums[2] + sums[3])", "(tops[0] + tops[1] + tops[2] + tops[3])")],
        kind="race",
        says="tops[",
    ),
    Wrong(
        "one place for both, with a third barrier",
        [
            ("if (lane == 0) sums[warp] = part;", "__syncthreads(); if (lane == 0) tops[warp] = part;"),
            ("l = l * expf(m - m_new) + (sums[0] + sums[1] + sums[2] + sums[3]);",
             "l = l * expf(m - m_new) + (tops[0] + tops[1] + tops[2] + tops[3]); __syncthreads();"),
        ],
        kind="over-budget",
        says="barriers",
    ),
    Wrong(
        "forgets to rescale",
        [("l * expf(m - m_new)", "l")],
        kind="wrong-values",
        says="when m grows, the old l must shrink",
    ),
    Wrong(
        "rescales the other way round",
        [("l * expf(m - m_new)", "l * (tile == 0 ? 0.0f : expf(m_new - m))")],
        kind="wrong-values",
        says="the other way round",
    ),
    Wrong(
        "rescales before the sum of each warp",
        [("float part = expf(s - m_new);", "float part = l * expf(m - m_new) + expf(s - m_new);"), ("l = l * expf(m - m_new) + (sums", "l = (sums")],
        kind="wrong-values",
        says="after key tile 2",
    ),
    Wrong(
        "each warp keeps its own maximum",
        [("for (int w = 0; w < 4; ++w) m_new = fmaxf(m_new, tops[w]);", "m_new = fmaxf(m_new, tops[warp]);")],
        kind="wrong-values",
        says="key tile",
    ),
    Wrong(
        "a tile's maximum instead of the row's",
        [("        float m_new = fmaxf(m, s);", "        float m_new = s;")],
        kind="wrong-values",
        says="m fell",
    ),
    Wrong(
        "a key past the end counts as 0",
        [("j < keys ? S[j] : -CUDART_INF_F", "j < keys ? S[j] : 0.0f")],
        kind="wrong-values",
        says="key tile",
    ),
    Wrong(
        "full tiles only",
        [("(keys + 127) / 128", "keys / 128")],
        kind="wrong-values",
        says="P[0, 0]",
    ),
    Wrong(
        "reads past the row's end",
        [("j < keys ? S[j] : -CUDART_INF_F", "S[j]")],
        kind="out-of-bounds",
        says="S[",
    ),
]
