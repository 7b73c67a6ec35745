from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "only half of the warp is called",
        [("__ballot_sync(0xffffffffu, positive)", "__ballot_sync(0x0000ffffu, positive)")],
        kind="warp-mask",
        line="__ballot_sync(0x0000ffffu, positive)",
    ),
    Wrong(
        "counts itself",
        [("(1u << lane) - 1u", "(2u << lane) - 1u")],
        kind="wrong-values",
        says="rank[",
    ),
    Wrong(
        "one kind only",
        [("positive ? votes : ~votes", "votes")],
        kind="wrong-values",
        says="rank[",
    ),
    Wrong(
        "reads past the end",
        [("i < n && x[i] > 0.0f", "x[i] > 0.0f && i < n")],
        kind="out-of-bounds",
        says="x[",
    ),
]
