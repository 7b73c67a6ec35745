from lanewise.exercise import Wrong

LIMIT = "const double limit = (end - start) * 0x1p-24 * size;"

WRONG = [
    Wrong(
        "one limit for all",
        [(LIMIT, "const double limit = 1e-5;")],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "a limit without the length",
        [(LIMIT, "const double limit = 0x1p-24 * size;")],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "the sum itself for the sum of absolute values",
        [("size += fabs((double)x[k]);", "size += x[k];")],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "relative to the sum, which may be near 0",
        [(LIMIT, "const double limit = (end - start) * 0x1p-24 * fabs(exact);")],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "the reference in float",
        [
            ("double exact = 0.0, size = 0.0;", "float exact = 0.0f;\n    double size = 0.0;"),
            (LIMIT, "const double limit = 0x1p-52 * size;"),
        ],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "NaN passes",
        [("right[row] = fabs(sum[row] - exact) <= limit;", "right[row] = !(fabs(sum[row] - exact) > limit);")],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "a limit that is never 0",
        [(LIMIT, "const double limit = (end - start + 1) * 0x1p-24 * (size + 1.0);")],
        kind="wrong-values",
        says="right",
    ),
    Wrong(
        "strictly below the limit",
        [("<= limit;", "< limit;")],
        kind="wrong-values",  # an empty row's sum is 0, and so is its limit
        says="right",
    ),
    Wrong(
        "drops the last number of each row",
        [
            (
                "for (int k = start; k < end; ++k) {\n        exact += x[k];\n        size",
                "for (int k = start; k < end - 1; ++k) {\n        exact += x[k];\n        size",
            )
        ],
        kind="wrong-values",
        says="right",
    ),
]
