from lanewise.exercise import Wrong

ROUND = "y[i] = s * __half2float(__float2half(x[i] / s));"
SCALE = "top > 0.0f ? __uint_as_float(__float_as_uint(top) & 0x7f800000) : 1.0f;"

WRONG = [
    Wrong("scaled, but bf16", [(ROUND, "y[i] = s * __bfloat162float(__float2bfloat16(x[i] / s));")], kind="wrong-values", says="y[0, 0] is"),
    Wrong("fp16 without a scale", [(SCALE, "1.0f;")], kind="wrong-values", says="scale"),
    Wrong("no rounding at all", [(ROUND, "y[i] = x[i];")], kind="wrong-values", says="y[0, 0] is"),
    Wrong("a row of zeros divides by zero", [(SCALE, "__uint_as_float(__float_as_uint(top) & 0x7f800000);")], kind="wrong-values", says="nan"),
    Wrong("negative numbers don't count", [("top = fmaxf(top, fabsf(x[i]));", "top = fmaxf(top, x[i]);")], kind="wrong-values"),
    Wrong("a scale for each lane", [("for (int w = 16; w > 0; w /= 2) {\n        top", "for (int w = 0; w > 0; w /= 2) {\n        top")], kind="wrong-values"),
    Wrong("the power of two above", [(SCALE, "top > 0.0f ? exp2f(ceilf(log2f(top))) : 1.0f;")], kind="wrong-values", says="It is 2 times what it should be"),
    Wrong("the largest number itself as scale", [(SCALE, "top > 0.0f ? top : 1.0f;")], kind="wrong-values"),
    Wrong("forgets to multiply back", [(ROUND, "y[i] = __half2float(__float2half(x[i] / s));")], kind="wrong-values", says="y["),
]
