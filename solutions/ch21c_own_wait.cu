// out = V's rows, each the mean of itself and its neighbours above and below
// (the first and the last row have one neighbour), through four stages.
//
// grid:   heads      block: 64 threads: one a column
// V:      float32 (heads, N, 64), read
// out:    float32 (heads, N, 64), written
// N:      any >= 1
#include <ptx.cuh>

extern "C" __global__ void own_wait(const float* V, float* out, int N) {
    constexpr int rows = 8;
    __shared__ float4 tile[4][rows][16];  // 16 chunks of 16 bytes a row
    const int col = threadIdx.x;
    V += (size_t)blockIdx.x * N * 64;     // now at my head
    out += (size_t)blockIdx.x * N * 64;
    const int tiles = (N + rows - 1) / rows;

    // Starts to copy tile t into its stage: 128 chunks, two a thread; rows past
    // the end become zeros.
    auto copy = [&](int t) {
        for (int p = col; p < rows * 16; p += 64) {
            const bool real = t * rows + p / 16 < N;
            const float* from = real ? V + (t * rows * 16 + p) * 4 : V;
            ptx::cp_async_16(ptx::shared_address(&tile[t % 4][p / 16][p % 16]),
                             from, real ? 16 : 0);
        }
    };
    auto value = [&](int row) {  // my column of a row, out of its stage
        return ((const float*)tile[row / rows % 4][row % rows])[col];
    };
    copy(0);
    ptx::cp_async_commit();
    if (tiles > 1) copy(1);
    ptx::cp_async_commit();

    for (int t = 0; t < tiles; ++t) {
        // In use: tile t, the last row of t - 1, the first row of t + 1.
        //@solution whose chunks does a wait wait for? Start tile t + 2, too
        ptx::cp_async_wait<0>();  // *my* chunks of tiles t and t + 1 are here
        __syncthreads();          // and everybody's; all are done with t - 1
        if (t + 2 < tiles) copy(t + 2);  // to the stage of tile t - 2
        ptx::cp_async_commit();
        //@stub
        //@ if (t + 2 < tiles) copy(t + 2);
        //@ ptx::cp_async_commit();
        //@ ptx::cp_async_wait<1>();  // tiles t and t + 1 are here
        //@end

        for (int row = t * rows; row < min(N, (t + 1) * rows); ++row) {
            float sum = value(row), count = 1.0f;
            if (row > 0) sum += value(row - 1), count += 1.0f;
            if (row + 1 < N) sum += value(row + 1), count += 1.0f;
            out[row * 64 + col] = sum / count;
        }
    }
}
