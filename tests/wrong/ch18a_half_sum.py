from lanewise.exercise import Wrong

LOOP = "sum = fmaf(__half2float(x[i]), __half2float(y[i]), sum);"
SHUFFLE = "sum += __shfl_xor_sync(0xffffffffu, sum, w);"
STORE = "if (lane == 0) out[row] = sum;\n    //@stub"
HALF = " sum = __half2float(__float2half(sum));"

WRONG = [
    Wrong("products in fp16", [(LOOP, "sum += __half2float(__hmul(x[i], y[i]));")], kind="wrong-values", says="products that were rounded to fp16"),
    Wrong("all of it in fp16", [(LOOP, LOOP + HALF), (SHUFFLE, SHUFFLE + HALF)], kind="wrong-values", says="rounded to 11 bits at every step"),
    Wrong("the sum rounded after each step", [(LOOP, LOOP + HALF)], kind="wrong-values", says="each lane rounds to fp16 at every step"),
    Wrong("lanes joined in fp16", [(SHUFFLE, SHUFFLE + HALF)], kind="wrong-values", says="with the lanes joined in fp16"),
    Wrong(
        "the result by way of fp16",
        [(STORE, STORE.replace("= sum", "= __half2float(__float2half(sum))"))],
        kind="wrong-values",
        says="or rounded to it at the end",
    ),
    Wrong(
        "a bf16 sum: range without bits",
        [("#include <cuda_fp16.h>", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>"), (LOOP, LOOP + " sum = __bfloat162float(__float2bfloat16(sum));")],
        kind="wrong-values",
        says="a sum kept in bf16",
    ),
    Wrong(
        "half of the lanes are not joined",
        [("{\n        sum += __shfl", "{\n        if (w > 8) continue;\n        sum += __shfl")],
        kind="wrong-values",
        says="the sum of lanes 0 to 15",
    ),
    Wrong(
        "the last, partial step left out",
        [("for (int i = lane; i < n; i += 32) {\n        sum", "for (int i = lane; i - lane + 32 <= n; i += 32) {\n        sum")],
        kind="wrong-values",
        says="without the last n % 32 products",
    ),
]
