// out = the sum of all rows of V, each times its weight: one query's P V for
// each head. While a tile of 16 rows is used, the next ones are on their way.
//
// grid:   heads      block: 64 threads: one a column
// w:      float32 (heads, N), read       V: float32 (heads, N, 64), read
// out:    float32 (heads, 64), written
// events: null, or int64 (tiles, 3): when thread 0 began to copy a tile, when
//         it began to use it, and when it was done
#include <ptx.cuh>

constexpr int stages = 2;  // tiles in shared memory

extern "C" __global__ void rows_stages(const float* w, const float* V,
                                       float* out, int N, long long* events) {
    constexpr int rows = 16;
    __shared__ float4 tile[stages][rows][16];
    const int col = threadIdx.x;
    w += (size_t)blockIdx.x * N;       // now at my head
    V += (size_t)blockIdx.x * N * 64;
    const int tiles = (N + rows - 1) / rows;
    const bool told = events != nullptr && blockIdx.x == 0 && col == 0;

    // Starts to copy tile t into its stage, in the background: 256 chunks of
    // 16 bytes, four a thread; rows past the end become zeros.
    auto copy = [&](int t) {
        if (told) events[3 * t] = clock64();
        for (int p = col; p < rows * 16; p += 64) {
            const bool real = t * rows + p / 16 < N;
            const float4* from = (const float4*)V + t * rows * 16 + p;
            ptx::cp_async_16(
                ptx::shared_address(&tile[t % stages][p / 16][p % 16]),
                real ? from : (const float4*)V, real ? 16 : 0);
        }
    };
    for (int t = 0; t < stages - 1; ++t) {
        if (t < tiles) copy(t);
        ptx::cp_async_commit();  // a group a tile, empty past the last one
    }

    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        ptx::cp_async_wait<stages - 2>();  // *my* chunks of tile t are here
        __syncthreads();  // all chunks are here; all are done with tile t - 1
        if (t + stages - 1 < tiles) copy(t + stages - 1);  // to tile t - 1's
        ptx::cp_async_commit();
        if (told) events[3 * t + 1] = clock64();
        for (int r = 0; r < min(rows, N - t * rows); ++r)
            sum += w[t * rows + r] * ((const float*)tile[t % stages][r])[col];
        if (told) events[3 * t + 2] = clock64();
    }

    out[blockIdx.x * 64 + col] = sum;
}
