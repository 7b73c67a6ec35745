// Dot products of columns of A and B, added up in four ways: which numbers
// may have 16 bits?
//
// grid:  ceil(count / 64) blocks    block: 64 threads, one a dot product
// A, B:  float32 (n, count), read: number i of dot product c lies at [i][c]
// out:   float32 (4, count), written: 0 all in float32; 1 inputs fp16, sum
//        float32; 2 inputs bf16, sum float32; 3 inputs and sum fp16
// count, n: any >= 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void dots(const float* A, const float* B, float* out,
                                int count, int n) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;  // my dot product
    if (c >= count) return;  // threads behind the last one
    float all = 0.0f, from_fp16 = 0.0f, from_bf16 = 0.0f;
    __half short_sum = __float2half(0.0f);
    for (int i = 0; i < n; ++i) {
        const float a = A[i * count + c], b = B[i * count + c];
        all = fmaf(a, b, all);
        // The product of two numbers with 11 bits has at most 22: float32
        // holds it exactly, and so does it for 8 bits.
        const __half ha = __float2half(a), hb = __float2half(b);
        from_fp16 = fmaf(__half2float(ha), __half2float(hb), from_fp16);
        from_bf16 = fmaf(__bfloat162float(__float2bfloat16(a)),
                         __bfloat162float(__float2bfloat16(b)), from_bf16);
        short_sum = __hfma(ha, hb, short_sum);
    }
    out[c] = all;
    out[count + c] = from_fp16;
    out[2 * count + c] = from_bf16;
    out[3 * count + c] = __half2float(short_sum);
}
