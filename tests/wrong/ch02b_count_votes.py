from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "reads past the end before asking",
        [("i < n && x[i] > limit", "x[i] > limit && i < n")],
        kind="out-of-bounds",
        says="x[900]",
    ),
    Wrong(
        "threads past the end leave",
        [("const bool above = i < n && x[i] > limit;", "if (i >= n) return;\n    const bool above = x[i] > limit;")],
        kind="unwritten-output",
        says="count[29..31]",
    ),
    Wrong(
        "the word itself instead of its bits",
        [("__popc(votes)", "(int)votes")],
        kind="wrong-values",
        says="count[0]",
    ),
    Wrong(
        "counts the noes",
        [("__popc(votes)", "__popc(~votes)")],
        kind="wrong-values",
        says="count[0]",
    ),
    Wrong(
        "forgets the block",
        [("const int warp = i / 32;  ", "const int warp = threadIdx.x / 32;  ")],
        kind="race",
        says="count[0]",
    ),
    Wrong(
        "every lane reads all 32",
        [(
            "const int total = __popc(votes);",
            "int total = 0;\n    for (int k = 32 * warp; k < min(n, 32 * warp + 32); ++k) total += x[k] > limit;",
        )],
        kind="over-budget",
        says="global_load_requests",
    ),
]
