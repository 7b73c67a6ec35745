from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the first barrier",
        [("__syncthreads();  // every most[]", "// every most[]")],
        kind="race",
        says="most",
    ),
    Wrong(
        "drop the second barrier",
        [("__syncthreads();  // most[0", "// most[0")],
        kind="race",
        says="most",
    ),
    Wrong(
        "lets NaN meet fmaxf",
        [("if (isnan(error)) {", "if (false) {")],
        kind="wrong-values",
        says="worst",
    ),
    Wrong(
        "a comparison that NaN never wins",
        [("if (isnan(error)) {", "if (error > 3e38f) {")],
        kind="wrong-values",
        says="worst",
    ),
    Wrong(
        "looks for NaN in got alone",
        [("if (isnan(error)) {", "if (isnan(a)) {")],
        kind="wrong-values",
        says="worst",
    ),
    Wrong(
        "equal infinities count as an error",
        [("a == b ? 0.0f : fabsf(a - b)", "fabsf(a - b)")],
        kind="wrong-values",
        says="worst",
    ),
    Wrong(
        "every NaN counts as no error",
        [("error = __int_as_float(0x7f800000);", "error = 0.0f;")],
        kind="wrong-values",
        says="worst",
    ),
    Wrong(
        "looks at the last of its elements only",
        [("mine = fmaxf(mine, error);", "mine = error;")],
        kind="wrong-values",
        says="worst",
    ),
    Wrong(
        "the integer abs",
        [("a == b ? 0.0f : fabsf(a - b)", "a == b ? 0.0f : (isnan(a - b) ? a - b : float(abs(int(a - b))))")],
        kind="wrong-values",
        says="worst",
    ),
]
