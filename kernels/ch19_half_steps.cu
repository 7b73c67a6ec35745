// C = A B for a tile of 16 x 8 elements, in the half steps of older GPUs.
//
// grid:  1 block          block: 32 threads: one warp
// A:     fp16 (16, K), read        B: fp16 (K, 8), read
// C:     float32 (16, 8), written
// K:     a multiple of 8; sm_75 and up
#include <ptx.cuh>

extern "C" __global__ void half_steps(const __half* A, const __half* B,
                                      float* C, int K) {
    const int group = threadIdx.x / 4;     // my row of A and C, column of B
    const int pair = threadIdx.x % 4 * 2;  // where my pairs begin
    float c[4] = {};

    for (int start = 0; start < K; start += 8) {
        // Registers 0 and 1 of A, register 0 of B: the left half of A's 16
        // columns is all there is, and the upper half of B's rows.
        const __half* p = A + group * K + start + pair;
        const __half* q = B + (start + pair) * 8 + group;
        const __half2 b = __halves2half2(q[0], q[8]);
        ptx::mma_m16n8k8(c, *(const unsigned*)p, *(const unsigned*)(p + 8 * K),
                         *(const unsigned*)&b, __half());
    }

    float* out = C + group * 8 + pair;
    *(float2*)out = make_float2(c[0], c[1]);
    *(float2*)(out + 64) = make_float2(c[2], c[3]);  // 8 rows further
}
