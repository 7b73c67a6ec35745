from lanewise.exercise import Wrong

UPDATE = "l = l * expf(m - m_new) + expf(s - m_new);"

WRONG = [
    Wrong(
        "forgets to rescale",
        [("l * expf(m - m_new)", "l")],
        kind="wrong-values",
        says="when m grows, the old l must shrink by exp(m_old - m_new)",
    ),
    Wrong(
        "rescales the other way round",
        [("l * expf(m - m_new)", "l * (j == 0 ? 0.0f : expf(m_new - m))")],
        kind="wrong-values",
        says="the other way round",
    ),
    Wrong(
        "rescales the other way round from the first key on",
        [("expf(m - m_new)", "expf(m_new - m)")],
        kind="wrong-values",
        says="after key 1: m expected",
    ),
    Wrong(
        "m begins at 0",
        [("float m = -CUDART_INF_F;", "float m = 0.0f;")],
        kind="wrong-values",
        says="after key 1: m expected",
    ),
    Wrong(
        "m is the newest score",
        [("m_new = fmaxf(m, s)", "m_new = s")],
        kind="wrong-values",
        says="m fell: it is the largest score of all keys so far",
    ),
    Wrong(
        "never keeps the new maximum",
        [("m = m_new;", "")],
        kind="wrong-values",
        says="after key 1: m expected",
    ),
    Wrong(
        "the sum alone, without a maximum",
        [(UPDATE, "l += expf(s);"), ("m = m_new;", ""), ("float m = -CUDART_INF_F;", "float m = 0.0f;")],
        kind="wrong-values",
        says="m expected",
    ),
    Wrong(
        "loses the earlier keys",
        [(UPDATE, "l = expf(s - m_new);")],
        kind="wrong-values",
        says="That is the newest part alone",
    ),
    Wrong(
        "forgets the maximum in the end",
        [("LSE[row] = m + logf(l);", "LSE[row] = logf(l);")],
        kind="wrong-values",
        says="The state (m, l) is right after every key: look at what else",
    ),
    Wrong(
        "two passes",
        [
            (
                "for (int j = 0; j < keys; ++j) {\n        const float s",
                "for (int j = 0; j < keys; ++j) m = fmaxf(m, S[(size_t)j * rows + row]);\n    for (int j = 0; j < keys; ++j) {\n        const float s",
            )
        ],
        kind="over-budget",
        says="global_load_requests",
    ),
    Wrong(
        "no guard for the rows",
        [("if (row >= rows) return;", "")],
        kind="out-of-bounds",
        says="S[",
    ),
]
