// C = A B for a tile of 16 x 8 elements, by one warp on a tensor core.
//
// grid:  1 block          block: 32 threads: one warp
// A:     fp16 (16, K), read        B: fp16 (K, 8), read
// C:     float32 (16, 8), written
// K:     a multiple of 16
#include <ptx.cuh>

extern "C" __global__ void tile_product(const __half* A, const __half* B,
                                        float* C, int K) {
    const int lane = threadIdx.x;     // 0 .. 31
    const int group = lane / 4;       // 0 .. 7: my row of A and C, column of B
    const int pair = lane % 4 * 2;    // 0, 2, 4, 6: where my pairs begin
    float c[4] = {};                  // my four elements of C

    for (int start = 0; start < K; start += 16) {
        // A: pairs of neighbours in a row, so each is one 32-bit load.
        // Registers 1 and 3 are 8 rows further, 2 and 3 are 8 columns further.
        const __half* p = A + group * K + start + pair;
        const unsigned a[4] = {
            *(const unsigned*)p, *(const unsigned*)(p + 8 * K),
            *(const unsigned*)(p + 8), *(const unsigned*)(p + 8 * K + 8)};
        // B: pairs of neighbours in a column, 8 elements apart in memory.
        const __half* q = B + (start + pair) * 8 + group;
        const __half2 b0 = __halves2half2(q[0], q[8]);    // rows pair, + 1
        const __half2 b1 = __halves2half2(q[64], q[72]);  // the same + 8
        ptx::mma_m16n8k16(c, a, *(const unsigned*)&b0, *(const unsigned*)&b1,
                          __half());
    }

    float* out = C + group * 8 + pair;
    *(float2*)out = make_float2(c[0], c[1]);
    *(float2*)(out + 64) = make_float2(c[2], c[3]);  // 8 rows further
}
