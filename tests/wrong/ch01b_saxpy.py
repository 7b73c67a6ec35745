from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "no guard at all",
        [("if (i < n) {", "{")],
        kind="out-of-bounds",
        says="x[1000",
    ),
    Wrong(
        "guard one too wide",
        [("if (i < n) {", "if (i < n + 1) {")],
        kind="out-of-bounds",
        says="x[1000]",
    ),
    Wrong(
        "guard one too narrow",
        [("if (i < n) {", "if (i < n - 1) {")],
        kind="wrong-values",
        says="y[999]",
    ),
    Wrong(
        "forgets to add y",
        [("y[i] = alpha * x[i] + y[i];\n    }\n    //@stub", "y[i] = alpha * x[i];\n    }\n    //@stub")],
        kind="wrong-values",
        says="y",
    ),
]
