from lanewise.exercise import Wrong

STATE = "const float m_new = fmaxf(m, top), fade = expf(m - m_new);"
END = "        for (int c = 0; c < d; ++c) O[row * d + c] = acc[c] / l;\n"

WRONG = [
    Wrong(
        "the article's way",
        [
            (STATE, "const float m_new = top; l = 0.0f;"),
            ("        l *= fade;\n        for (int c = 0; c < d; ++c) acc[c] *= fade;\n", "        for (int b = 0; b < left; ++b) l += expf(s[b] - m_new);\n"),
            ("const float p = expf(s[b] - m_new);\n            l += p;", "const float p = expf(s[b] - m_new) / (l + 1e-6f);"),
            (END, END.replace(" / l", "")),
        ],
        kind="wrong-values",
        says="acc[0] expected 4.143, yours 1. The first step has nothing to rescale",
    ),
    Wrong(
        "averages the tiles",
        [
            (STATE, "const float m_new = top; l = 0.0f;"),
            ("        l *= fade;\n        for (int c = 0; c < d; ++c) acc[c] *= fade;\n", "        for (int b = 0; b < left; ++b) l += expf(s[b] - m_new);\n"),
            ("const float p = expf(s[b] - m_new);\n            l += p;", "const float p = expf(s[b] - m_new) / (l + 1e-6f);"),
            (END, END.replace(" / l", " / tiles")),
        ],
        kind="wrong-values",
        says="Case 3 (two tiles)",
    ),
    Wrong(
        "rescales the sum alone",
        [("        for (int c = 0; c < d; ++c) acc[c] *= fade;\n", "")],
        kind="wrong-values",
        says="That is acc[0] with the old sum not rescaled",
    ),
    Wrong(
        "rescales the accumulator alone",
        [("        l *= fade;\n", "")],
        kind="wrong-values",
        says="That is l with the old sum not rescaled",
    ),
    Wrong(
        "rescales the other way round",
        [("fade = expf(m - m_new)", "fade = tile == 0 ? 0.0f : expf(m_new - m)")],
        kind="wrong-values",
        says="the other way round",
    ),
    Wrong(
        "divides after each tile",
        [
            ("        m = m_new;\n        //@stub", "        m = m_new;\n        for (int c = 0; c < d; ++c) acc[c] /= l;\n        //@stub"),
            (END, END.replace(" / l", "")),
        ],
        kind="wrong-values",
        says="acc[0] expected",
    ),
    Wrong(
        "drop the barrier before the tile is read",
        [("__syncthreads();  // the tile's", "// the tile's")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "drop the barrier before the tile is refilled",
        [("__syncthreads();  // all are done", "// all are done")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "takes the last tile for a full one",
        [("for (int b = 0; b < left; ++b) {\n            const float p", "for (int b = 0; b < Bc; ++b) {\n            const float p")],
        kind="uninitialised-read",
        says="Vs",
    ),
]
