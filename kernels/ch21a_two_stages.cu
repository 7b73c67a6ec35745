// s = q . k for each key, tiles of 64 keys in two stages: while one tile is
// used, the next one is on its way.
//
// grid:   heads      block: 64 threads: one a key of a tile
// q:      float32 (heads, 32), read      K: float32 (heads, Nk, 32), read
// s:      float32 (heads, Nk), written
// Nk:     any >= 1
#include <ptx.cuh>

extern "C" __global__ void two_stages(const float* q, const float* K, float* s,
                                      int Nk) {
    constexpr int keys = 64;
    __shared__ float4 tile[2][keys][9];  // 8 chunks of 16 bytes, one for banks
    const int me = threadIdx.x;          // my key of a tile
    q += blockIdx.x * 32;                // now at my head
    K += (size_t)blockIdx.x * Nk * 32;
    s += (size_t)blockIdx.x * Nk;
    const int tiles = (Nk + keys - 1) / keys;

    // Starts to copy tile t into a stage: 512 chunks, eight a thread; keys past
    // the end become zeros.
    auto copy = [&](int t, int stage) {
        for (int p = me; p < keys * 8; p += 64) {
            const bool real = t * keys + p / 8 < Nk;
            const float* from = real ? K + (t * keys * 8 + p) * 4 : K;
            ptx::cp_async_16(ptx::shared_address(&tile[stage][p / 8][p % 8]),
                             from, real ? 16 : 0);
        }
    };

    // TODO (2 lines): before the loop: start tile 0, close its group
    (void)copy;

    for (int t = 0; t < tiles; ++t) {
        // TODO (4 lines): tile t is here for all; start tile t + 1; one barrier
        // (nothing is here yet)

        float sum = 0.0f;
        for (int c = 0; c < 8; ++c) {
            const float4 x = tile[t % 2][me][c];
            const float4 y = ((const float4*)q)[c];
            sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
        }
        // Excluded: keys past the end.
        if (t * keys + me < Nk) s[t * keys + me] = sum;
    }
}
