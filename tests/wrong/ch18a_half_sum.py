from lanewise.exercise import Wrong

LOOP = "sum = fmaf(__half2float(x[i]), __half2float(y[i]), sum);"
SHUFFLE = "sum += __shfl_xor_sync(0xffffffffu, sum, w);"
STORE = "if (lane == 0) out[row] = sum;\n    //@stub"

WRONG = [
    Wrong("products in fp16", [(LOOP, "sum += __half2float(__hmul(x[i], y[i]));")], kind="wrong-values", says="out["),
    Wrong("the sum rounded after each step", [(LOOP, LOOP + " sum = __half2float(__float2half(sum));")], kind="wrong-values", says="out[0] is"),
    Wrong("lanes joined in fp16", [(SHUFFLE, SHUFFLE + " sum = __half2float(__float2half(sum));")], kind="wrong-values", says="out[0] is"),
    Wrong("the result by way of fp16", [(STORE, STORE.replace("= sum", "= __half2float(__float2half(sum))"))], kind="wrong-values", says="out[0] is"),
    Wrong(
        "a bf16 sum: range without bits",
        [("#include <cuda_fp16.h>", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>"), (LOOP, LOOP + " sum = __bfloat162float(__float2bfloat16(sum));")],
        kind="wrong-values",
        says="out[0] is",
    ),
    Wrong("half of the lanes are not joined", [("{\n        sum += __shfl", "{\n        if (w > 8) continue;\n        sum += __shfl")], kind="wrong-values"),
    Wrong(
        "the last, partial step left out",
        [("for (int i = lane; i < n; i += 32) {\n        sum", "for (int i = lane; i + 32 <= n; i += 32) {\n        sum")],
        kind="wrong-values",
    ),
]
