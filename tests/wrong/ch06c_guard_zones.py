from lanewise.exercise import Wrong

BITS = "__float_as_uint(buffer[i]) == poison"

WRONG = [
    Wrong(
        "compares floats",
        [(BITS, "buffer[i] == __uint_as_float(poison)")],
        kind="wrong-values",
        says="counts",
    ),
    Wrong(
        "takes every NaN for poison",
        [(BITS, "isnan(buffer[i])")],
        kind="wrong-values",
        says="counts",
    ),
    Wrong(
        "turns the number into an integer, not its bits",
        [(BITS, "(unsigned)buffer[i] == poison")],
        kind="wrong-values",
        says="counts",
    ),
    Wrong(
        "looks at the output alone",
        [("if (!output && !poisoned) {", "if (false) {")],
        kind="wrong-values",
        says="counts[1]",
    ),
    Wrong(
        "counts whole guard zones",
        [("if (!output && !poisoned) {", "if (!output && poisoned) {")],
        kind="wrong-values",
        says="counts[1]",
    ),
    Wrong(
        "counts written elements",
        [("if (output && poisoned) {", "if (output && !poisoned) {")],
        kind="wrong-values",
        says="counts[0]",
    ),
    Wrong(
        "a plain addition",
        [("atomicAdd(&counts[0], 1);", "counts[0] += 1;")],
        kind="race",
        says="counts",
    ),
    Wrong(
        "forgets the second zone",
        [("const bool output = i >= 32 && i < 32 + n;", "const bool output = i >= 32;")],
        kind="wrong-values",
        says="counts",
    ),
    Wrong(
        "no guard",
        [("if (i >= n + 64) return;", "")],
        kind="out-of-bounds",
        says="buffer[",
    ),
]
