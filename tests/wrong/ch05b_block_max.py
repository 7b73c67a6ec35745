from lanewise.exercise import Wrong

FIRST = "__syncthreads();  // s[] holds the maxima"
FREE = "__syncthreads();  // all threads have read"
SUMS = "__syncthreads();  // s[] holds the sums"

WRONG = [
    Wrong(
        "the largest so far begins at 0",
        [("float top = -CUDART_INF_F;  ", "float top = 0.0f;  ")],
        kind="wrong-values",
        says="m[",
    ),
    Wrong(
        "drop the barrier before the maxima are read",
        [(FIRST, "// s[] holds the maxima")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "stores sums over maxima that others still read",
        [(FREE, "// all threads have read")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "drop the barrier before the sums are read",
        [(SUMS, "// s[] holds the sums")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "every thread keeps its own maximum",
        [("        top = fmaxf(top, s[w]);", "        if (t == 0) top = fmaxf(top, s[w]);")],
        kind="wrong-values",
        says="l[",
    ),
    Wrong(
        "every lane stores its sum",
        [("if (lane == 0) {\n        s[warp] = sum;", "{\n        s[warp] = sum;")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "the shuffles begin at 8",
        [("for (int step = 16; step > 0; step /= 2) {\n        sum", "for (int step = 8; step > 0; step /= 2) {\n        sum")],
        kind="wrong-values",
        says="l[",
    ),
    Wrong(
        "a shuffle inside the loop over columns",
        [
            (
                "        sum += expf(row[c] - top);\n    }",
                "        sum += expf(row[c] - top);\n        sum += __shfl_down_sync(0xffffffffu, sum, 16);\n    }",
            ),
            ("for (int step = 16; step > 0; step /= 2) {\n        sum", "for (int step = 8; step > 0; step /= 2) {\n        sum"),
        ],
        kind="wrong-values",
        says="l[",
    ),
    Wrong(
        "forgets the columns past 256",
        [("for (int c = t; c < cols; c += 256) {\n        top", "for (int c = t; c < min(cols, 256); c += 256) {\n        top")],
        kind="wrong-values",
        says="m[",
    ),
    Wrong(
        "reads past the row's end",
        [("for (int c = t; c < cols; c += 256) {\n        top", "for (int c = t; c < cols + t; c += 256) {\n        top")],
        kind="out-of-bounds",
        says="x[",
    ),
]
