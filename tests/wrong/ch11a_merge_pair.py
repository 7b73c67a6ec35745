from lanewise.exercise import Wrong

WA = "if (la[row] > 0.0f) wa = la[row] * expf(ma[row] - m_new);"
WB = "if (lb[row] > 0.0f) wb = lb[row] * expf(mb[row] - m_new);"
MEAN = "l_new > 0.0f ? (wa * oa[i] + wb * ob[i]) / l_new : 0.0f;"

WRONG = [
    Wrong(
        "averages the halves",
        [(MEAN, "(oa[i] + ob[i]) / 2;")],
        kind="wrong-values",
        says="Case 2 (4 rows): o[0, 0]",
    ),
    Wrong(
        "weighs by l alone",
        [(WA, "wa = la[row];"), (WB, "wb = lb[row];")],
        kind="wrong-values",
        says="l[0]",
    ),
    Wrong(
        "weighs by the maximum alone",
        [(MEAN, "l_new > 0.0f ? (wa / la[row] * oa[i] + wb / lb[row] * ob[i]) / (wa / la[row] + wb / lb[row]) : 0.0f;")],
        kind="wrong-values",
        says="o[0, 0]",
    ),
    Wrong(
        "the other way round",
        [("expf(ma[row] - m_new)", "expf(m_new - ma[row])"), ("expf(mb[row] - m_new)", "expf(m_new - mb[row])")],
        kind="wrong-values",
        says="l[0]",
    ),
    Wrong(
        "asks for exp(-inf - -inf)",
        [("if (la[row] > 0.0f) wa", "wa"), ("if (lb[row] > 0.0f) wb", "wb")],
        kind="wrong-values",
        says="both are empty in row 2): l[2] is nan",
    ),
    Wrong(
        "divides by nothing",
        [(MEAN, "(wa * oa[i] + wb * ob[i]) / l_new;")],
        kind="wrong-values",
        says="o[2, 0] is nan",
    ),
    Wrong(
        "adds the means up",
        [(MEAN, "oa[i] + ob[i];")],
        kind="wrong-values",
        says="o[0, 0]",
    ),
    Wrong(
        "a small number instead of the question",
        [(MEAN, "(wa * oa[i] + wb * ob[i]) / (l_new + 1e-3f);")],
        kind="wrong-values",
        says="o[0",
    ),
]
