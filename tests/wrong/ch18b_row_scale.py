from lanewise.exercise import Wrong

ROUND = "y[i] = s * __half2float(__float2half(x[i] / s));"
SCALE = "top > 0.0f ? __uint_as_float(__float_as_uint(top) & 0x7f800000) : 1.0f;"

WRONG = [
    Wrong("scaled, but bf16", [(ROUND, "y[i] = s * __bfloat162float(__float2bfloat16(x[i] / s));")], kind="wrong-values", says="y has the 8 bits of bf16"),
    Wrong(
        "bf16 without a scale",
        [(SCALE, "1.0f;"), (ROUND, "y[i] = s * __bfloat162float(__float2bfloat16(x[i] / s));")],
        kind="wrong-values",
        says="That is bf16 without a scale",
    ),
    Wrong("fp16 without a scale", [(SCALE, "1.0f;")], kind="wrong-values", says="fp16 without the row's scale"),
    Wrong("no rounding at all", [(ROUND, "y[i] = x[i];")], kind="wrong-values", says="and y is x"),
    Wrong(
        "a row of zeros divides by zero",
        [(SCALE, "__uint_as_float(__float_as_uint(top) & 0x7f800000);")],
        kind="wrong-values",
        says="A row of zeros was divided by 0",
    ),
    Wrong(
        "negative numbers don't count", [("top = fmaxf(top, fabsf(x[i]));", "top = fmaxf(top, x[i]);")], kind="wrong-values", says="a scale from the largest x"
    ),
    Wrong(
        "a scale for each lane",
        [("for (int w = 16; w > 0; w /= 2) {\n        top", "for (int w = 0; w > 0; w /= 2) {\n        top")],
        kind="wrong-values",
        says="with one that a lane takes for itself",
    ),
    Wrong("the power of two above", [(SCALE, "top > 0.0f ? exp2f(ceilf(log2f(top))) : 1.0f;")], kind="wrong-values", says="It is 2 times what it should be"),
    Wrong("the largest number itself as scale", [(SCALE, "top > 0.0f ? top : 1.0f;")], kind="wrong-values", says="the largest |x| itself as scale"),
    Wrong("forgets to multiply back", [(ROUND, "y[i] = __half2float(__float2half(x[i] / s));")], kind="wrong-values", says="y is still divided by the scale"),
]
