from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "one element too far",
        [("for (int k = i; k < n;", "for (int k = i; k <= n;")],
        kind="out-of-bounds",
        line="y[k] = x[k] * x[k];",
        says="x[1000]",
    ),
    Wrong(
        "every block starts at element 0",
        [("for (int k = i;", "for (int k = threadIdx.x;")],
        kind="unwritten-output",
        says="y",
    ),
    Wrong(
        "stride of one thread too many",
        [("k += all", "k += all + 1")],
        kind="unwritten-output",
        says="y",
    ),
    Wrong(
        "stops one round early",
        [("for (int k = i; k < n;", "for (int k = i; k + all < n;")],
        kind="unwritten-output",
        says="written by nobody",
    ),
    Wrong(
        "doubles instead of squaring",
        [("y[k] = x[k] * x[k];", "y[k] = x[k] + x[k];")],
        kind="wrong-values",
        says="y",
    ),
]
