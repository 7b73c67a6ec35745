from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "forgets to rescale",
        [("ldexpf(l, m - m_new)", "l")],
        kind="wrong-values",
        says="sum[",
    ),
    Wrong(
        "rescales the other way round",
        [("ldexpf(l, m - m_new)", "ldexpf(l, m_new - m)")],
        kind="wrong-values",
        says="sum[",
    ),
    Wrong(
        "powers without a maximum",
        [("ldexpf(l, m - m_new) + ldexpf(1.0f, x - m_new);", "ldexpf(ldexpf(l, m) + ldexpf(1.0f, x), -m_new);")],
        kind="wrong-values",
        says="large exponents",
    ),
    Wrong(
        "counts key 0 twice",
        [("for (int j = 1;", "for (int j = 0;")],
        kind="wrong-values",
        says="sum[0]",
    ),
    Wrong(
        "no guard for the rows",
        [("if (row >= rows) return;", "")],
        kind="out-of-bounds",
        says="X[",
    ),
]
