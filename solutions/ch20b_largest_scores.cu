// top[i] = the largest q_i . k_j of all keys, on tensor cores. The values are
// right; its tiles take the 48 KB of shared memory exactly, and are plain.
//
// grid:  ceil(Nq / 64) blocks     block: 128 threads: a warp for 16 queries
// Q:     fp16 (Nq, 64), read      K: fp16 (Nk, 64), read
// top:   float32 (Nq), written
// Nq: any >= 1; Nk: 1 .. 320
#include <math_constants.h>
#include <ptx.cuh>

extern "C" __global__ void largest_scores(const __half* Q, const __half* K,
                                          float* top, int Nq, int Nk) {
    constexpr int Br = 64, Bc = 320;
    __shared__ __align__(128) unsigned char tile[(Br + Bc) * 128];  // Q, then K
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * Br;  // the block's first query

    // Byte of 16-byte chunk `chunk` (0 .. 7) of row `row` in the tile.
    auto place = [](int row, int chunk) {
        //@solution eight rows below each other, one chunk of each: which banks?
        return row * 128 + (chunk ^ row & 7) * 16;
        //@stub
        //@ return row * 128 + chunk * 16;
        //@end
    };

    for (int p = threadIdx.x; p < (Br + Bc) * 8; p += 128) {
        const int r = p / 8, chunk = p % 8;
        const bool query = r < Br;
        const bool real = query ? first + r < Nq : r - Br < Nk;
        const __half* row = query ? Q + (first + r) * 64 : K + (r - Br) * 64;
        *(uint4*)(tile + place(r, chunk)) =
            real ? ((const uint4*)row)[chunk] : uint4();
    }
    __syncthreads();  // the tile is filled

    const unsigned at = ptx::shared_address(tile);
    unsigned a[4][4], b[4];  // my 16 queries: four steps of 16 columns
#pragma unroll
    for (int k = 0; k < 4; ++k)
        ptx::ldmatrix_x4(
            a[k], at + place(16 * warp + lane % 16, 2 * k + lane / 16));

    float best[2] = {-CUDART_INF_F, -CUDART_INF_F};  // rows lane / 4 and + 8
    for (int j = 0; j < Nk; j += 16) {
        const int r = Br + j + lane / 16 * 8 + lane % 8;
        float s[2][4] = {};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            ptx::ldmatrix_x4(b, at + place(r, 2 * k + lane / 8 % 2));
            ptx::mma_m16n8k16(s[0], a[k], b[0], b[1], __half());
            ptx::mma_m16n8k16(s[1], a[k], b[2], b[3], __half());
        }
        for (int e = 0; e < 8; ++e) {
            const int key = j + e / 4 * 8 + lane % 4 * 2 + e % 2;
            if (key < Nk)  // excluded: rows of zeros past the last key
                best[e / 2 % 2] = fmaxf(best[e / 2 % 2], s[e / 4][e % 4]);
        }
    }

    for (int h = 0; h < 2; ++h) {
        best[h] = fmaxf(best[h], __shfl_xor_sync(0xffffffffu, best[h], 1));
        best[h] = fmaxf(best[h], __shfl_xor_sync(0xffffffffu, best[h], 2));
        const int row = first + 16 * warp + lane / 4 + 8 * h;
        if (lane % 4 == 0 && row < Nq) top[row] = best[h];
    }
}
