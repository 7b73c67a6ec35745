// Each number of x, rounded to fp16, to bf16 and to tf32 and back.
//
// grid:    ceil(n / 128) blocks     block: 128 threads, one a number
// x:       float32 (n), read
// rounded: float32 (3, n), written: by way of fp16, of bf16, of tf32
// n:       any >= 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// tf32 is a float32 without its last 13 bits. Half of their worth is added
// before they go, so this rounds to nearest. (From sm_80 on one instruction
// does it, cvt.rna.tf32.f32.) x: not NaN.
__device__ float tf32(float x) {
    return __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000);
}

extern "C" __global__ void rounded(const float* x, float* rounded, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;  // my number
    if (i >= n) return;  // threads behind the end
    rounded[i] = __half2float(__float2half(x[i]));
    rounded[n + i] = __bfloat162float(__float2bfloat16(x[i]));
    rounded[2 * n + i] = tf32(x[i]);
}
