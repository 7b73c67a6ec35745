// Two numbers for each query, which the backward kernels read together: LSE for
// powers of 2, and delta.
//
// grid: (ceil(Nq / 8), heads)        block: 256 threads, a warp for a query
// O, dO: __half (heads, Nq, 64), read      LSE: float32 (heads, Nq), read;
//        -infinity where a query sees no key
// rows:  float32 (heads, Nq, 2), written: LSE log2 e, delta
#include <cuda_fp16.h>
#include <math_constants.h>

extern "C" __global__ void row_numbers(const __half2* O, const __half2* dO,
                                       const float* LSE, float2* rows, int Nq) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= Nq) return;  // Excluded: warps past the last query, whole ones.
    const size_t at = (size_t)blockIdx.y * Nq + row;
    const float2 o = __half22float2(O[at * 32 + lane]);
    const float2 g = __half22float2(dO[at * 32 + lane]);
    float delta = o.x * g.x + o.y * g.y;
    for (int k = 16; k > 0; k /= 2) {
        delta += __shfl_xor_sync(0xffffffffu, delta, k);
    }
    // +infinity for a query that sees no key: 2^(s - infinity) = 0 for every
    // score, so its weights vanish and nobody has to ask again.
    const bool sees = LSE[at] != -CUDART_INF_F;
    if (lane == 0) {
        rows[at] = sees ? make_float2(LSE[at] * 1.4426950408889634f, delta)
                        : make_float2(CUDART_INF_F, 0.0f);
    }
}
