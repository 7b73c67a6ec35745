from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "half a warp each",
        [("const bool odd = t >= 128;", "const bool odd = t / 16 % 2 == 1;"), ("2 * (t % 128)", "2 * (t / 32 * 16 + t % 16)")],
        kind="over-budget",
        says="active_lane_ratio",
    ),
    Wrong(
        "elements in order, recipes by half",
        [("const int i = first + 2 * (t % 128) + (odd ? 1 : 0);", "const int i = first + t;")],
        kind="wrong-values",
        says="y",
    ),
    Wrong(
        "both halves take the even elements",
        [("(odd ? 1 : 0)", "0")],
        kind="race",
        says="y[",
    ),
    Wrong(
        "guards the thread, not its element",
        [("if (i < n) {", "if (first + t < n) {")],
        kind="out-of-bounds",
        says="x",
    ),
]
