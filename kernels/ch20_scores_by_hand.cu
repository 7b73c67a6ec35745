// S = Q K^T for 16 queries and 64 keys, d = 64, on tensor cores: each lane
// fetches its elements of the fragments itself, a word (two fp16) at a time.
//
// grid:  1      block: 32 threads: a warp
// shared: dynamic, 80 pitch 2 bytes: the rows of Q, then those of K
// Q:     fp16 (16, 64), read      K: fp16 (64, 64), read
// S:     float32 (16, 64), written
// pitch: fp16 numbers from one row of a tile to the next, a multiple of 8
#include <ptx.cuh>

extern "C" __global__ void scores_by_hand(const __half* Q, const __half* K,
                                          float* S, int pitch) {
    extern __shared__ __align__(16) __half Qs[];
    __half* Ks = Qs + 16 * pitch;
    const int lane = threadIdx.x, row = lane / 4, pair = lane % 4 * 2;

    for (int p = lane; p < 80 * 8; p += 32) {  // 8 chunks of 16 bytes a row
        const int r = p / 8, chunk = p % 8 * 8;
        const __half* from = r < 16 ? Q + r * 64 : K + (r - 16) * 64;
        *(uint4*)(Qs + r * pitch + chunk) = *(const uint4*)(from + chunk);
    }
    __syncwarp();  // Qs and Ks are filled

    float s[8][4] = {};  // 8 fragments of 16 queries x 8 keys
    for (int k = 0; k < 64; k += 16) {
        unsigned a[4];
        for (int e = 0; e < 4; ++e)  // rows + 0 and 8, then columns + 8
            a[e] = *(unsigned*)(Qs + (row + e % 2 * 8) * pitch + k + pair
                                + e / 2 * 8);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const __half* key = Ks + (8 * j + row) * pitch + k + pair;
            ptx::mma_m16n8k16(s[j], a, *(unsigned*)key, *(unsigned*)(key + 8),
                              __half());
        }
    }

#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h)
            *(float2*)(S + (row + 8 * h) * 64 + 8 * j + pair) =
                make_float2(s[j][2 * h], s[j][2 * h + 1]);
}
