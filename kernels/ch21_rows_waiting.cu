// out = the sum of all rows of V, each times its weight: one query's P V for
// each head. Tiles of 16 rows through shared memory, one after the other.
//
// grid:   heads      block: 64 threads: one a column
// w:      float32 (heads, N), read       V: float32 (heads, N, 64), read
// out:    float32 (heads, 64), written
// events: null, or int64 (tiles, 3): when thread 0 began to copy a tile, when
//         it began to use it, and when it was done
extern "C" __global__ void rows_waiting(const float* w, const float* V,
                                        float* out, int N, long long* events) {
    constexpr int rows = 16;
    __shared__ float4 tile[rows][16];
    const int col = threadIdx.x;
    w += (size_t)blockIdx.x * N;       // now at my head
    V += (size_t)blockIdx.x * N * 64;
    const int tiles = (N + rows - 1) / rows;
    const bool told = events != nullptr && blockIdx.x == 0 && col == 0;

    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        if (told) events[3 * t] = clock64();
        // 256 chunks of 16 bytes, four a thread, by way of its registers;
        // rows past the end are zeros.
        for (int p = col; p < rows * 16; p += 64) {
            const int row = t * rows + p / 16;
            tile[p / 16][p % 16] =
                row < N ? ((const float4*)V)[t * rows * 16 + p] : float4();
        }
        __syncthreads();  // the tile is filled
        if (told) events[3 * t + 1] = clock64();
        for (int r = 0; r < min(rows, N - t * rows); ++r)
            sum += w[t * rows + r] * ((const float*)tile[r])[col];
        if (told) events[3 * t + 2] = clock64();
        __syncthreads();  // all are done with the tile: refill
    }

    out[blockIdx.x * 64 + col] = sum;
}
