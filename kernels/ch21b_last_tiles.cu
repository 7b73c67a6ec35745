// top[h] = the largest q . k of all keys of a head; tiles of 64 keys in three
// stages, two of them on their way.
//
// grid:   heads      block: 64 threads: one a key of a tile
// q:      float32 (heads, 32), read      K: float32 (heads, Nk, 32), read
// top:    float32 (heads), written
// Nk:     any >= 1
#include <math_constants.h>
#include <ptx.cuh>

extern "C" __global__ void last_tiles(const float* q, const float* K,
                                      float* top, int Nk) {
    constexpr int keys = 64;
    __shared__ float4 tile[3][keys][9];  // 8 chunks of 16 bytes, one for banks
    const int me = threadIdx.x;          // my key of a tile
    q += blockIdx.x * 32;                // now at my head
    K += (size_t)blockIdx.x * Nk * 32;
    const int tiles = (Nk + keys - 1) / keys;

    // Starts to copy tile t into its stage: 512 chunks, eight a thread; keys
    // past the end become zeros.
    auto copy = [&](int t) {
        for (int p = me; p < keys * 8; p += 64) {
            const bool real = t * keys + p / 8 < Nk;
            const float* from = real ? K + (t * keys * 8 + p) * 4 : K;
            ptx::cp_async_16(ptx::shared_address(&tile[t % 3][p / 8][p % 8]),
                             from, real ? 16 : 0);
        }
    };
    copy(0);
    ptx::cp_async_commit();
    if (tiles > 1) copy(1);
    ptx::cp_async_commit();

    float best = -CUDART_INF_F;
    for (int t = 0; t < tiles; ++t) {
        // Two groups are under way: tile t's and tile t + 1's.
        // TODO (4 lines): wait for tile t, the last ones too; then start tile t
        //   + 2
        if (t + 2 < tiles) {
            copy(t + 2);
            ptx::cp_async_commit();
        }
        ptx::cp_async_wait<2>();
        __syncthreads();

        float sum = 0.0f;
        for (int c = 0; c < 8; ++c) {
            const float4 x = tile[t % 3][me][c];
            const float4 y = ((const float4*)q)[c];
            sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
        }
        // Excluded: keys past the end.
        if (t * keys + me < Nk) best = fmaxf(best, sum);
    }

    for (int w = 16; w > 0; w /= 2)
        best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, w));
    __shared__ float largest[2];
    if (me % 32 == 0) largest[me / 32] = best;
    __syncthreads();  // both warps' largest is there
    if (me == 0) top[blockIdx.x] = fmaxf(largest[0], largest[1]);
}
