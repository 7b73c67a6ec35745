// C = A B in float32 from three tf32 products on a tensor core, by one warp.
//
// grid:  1 block          block: 32 threads: one warp
// A:     float32 (16, K), read        B: float32 (K, 8), read
// C:     float32 (16, 8), written
// K:     a multiple of 8; sm_80 and up
#include <ptx.cuh>

// x as two tf32 numbers: rounded, and what the rounding left over.
__device__ void split(float x, unsigned& big, unsigned& rest) {
    big = ptx::tf32(x);
    rest = ptx::tf32(x - __uint_as_float(big));
}

extern "C" __global__ void three_tf32(const float* A, const float* B, float* C,
                                      int K) {
    const int group = threadIdx.x / 4;  // my row of A and C, column of B
    const int one = threadIdx.x % 4;    // my column of A, row of B
    float c[4] = {};

    for (int start = 0; start < K; start += 8) {
        // 32-bit elements: one a register, and 4 columns further, not 8.
        unsigned a[4], a_rest[4], b[2], b_rest[2];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int row = group + r % 2 * 8, col = start + one + r / 2 * 4;
            split(A[row * K + col], a[r], a_rest[r]);
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            split(B[(start + one + r * 4) * 8 + group], b[r], b_rest[r]);
        }
        ptx::mma_m16n8k8_tf32(c, a_rest, b[0], b[1]);
        ptx::mma_m16n8k8_tf32(c, a, b_rest[0], b_rest[1]);
        ptx::mma_m16n8k8_tf32(c, a, b[0], b[1]);
    }

    float* out = C + group * 8 + one * 2;
    *(float2*)out = make_float2(c[0], c[1]);
    *(float2*)(out + 64) = make_float2(c[2], c[3]);  // 8 rows further
}
