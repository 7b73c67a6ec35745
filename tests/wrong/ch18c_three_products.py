from lanewise.exercise import Wrong

BIG = "const float a = tf32(x[i]), b = tf32(y[i]);"
REST = "const float a_rest = tf32(x[i] - a), b_rest = tf32(y[i] - b);"
LAST = "sum = tf32_fma(a, b, sum);"

WRONG = [
    Wrong("the rest of x alone", [("sum = tf32_fma(a, b_rest, sum);", "")], kind="wrong-values", says="product of x's rounded part and y's rest"),
    Wrong("the rest of y alone", [("sum = tf32_fma(a_rest, b, sum);", "")], kind="wrong-values", says="product of x's rest and y's rounded part"),
    Wrong("nothing is left over", [(BIG, "const float a = x[i], b = y[i];")], kind="wrong-values", says="factors cut to 11 bits"),
    Wrong(
        "the rest with the wrong sign",
        [(REST, "const float a_rest = tf32(a - x[i]), b_rest = tf32(b - y[i]);")],
        kind="wrong-values",
        says="with the wrong sign",
    ),
    Wrong(
        "only the rests' product",
        [("sum = tf32_fma(a, b_rest, sum);", ""), ("sum = tf32_fma(a_rest, b, sum);", "sum = tf32_fma(a_rest, b_rest, sum);")],
        kind="wrong-values",
        says="the rests are missing",
    ),
    Wrong("half of the rest", [(REST, "const float a_rest = 0.5f * tf32(x[i] - a), b_rest = 0.5f * tf32(y[i] - b);")], kind="wrong-values"),
    Wrong("a fourth product", [(LAST, LAST + " sum = tf32_fma(a_rest, b_rest, sum);")], kind="over-budget", says="flops is"),
    Wrong(
        "a float32 product",
        [("sum = tf32_fma(a_rest, b, sum);", ""), ("sum = tf32_fma(a, b_rest, sum);", ""), (LAST, "sum = fmaf(x[i], y[i], sum);")],
        kind="over-budget",
        says="at least",
    ),
]
