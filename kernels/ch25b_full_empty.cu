// O = p V: one block walks over all rows of V, two tiles on their way while it
// reads a third.
//
// grid:  1                        block: 64 threads: one for each column
// Vm:    tensor map of fp16 (Nk, 64), read, boxes (32, 64), no swizzle
// p:     float32 (Nk), read       O: float32 (64), written
// Nk:    any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void full_empty(
    const __grid_constant__ ptx::TensorMap Vm, const float* p, float* O,
    int Nk) {
    constexpr int stages = 3, rows = 32;
    constexpr unsigned bytes = rows * 64 * 2;  // of a box
    __shared__ __align__(128) __half ring[stages][rows][64];
    __shared__ __align__(8) unsigned long long bars[2 * stages];
    const int t = threadIdx.x;  // my column
    const int tiles = (Nk + rows - 1) / rows;
    // Of stage s: full + 8 s is bars[s], empty + 8 s is bars[stages + s].
    const unsigned full = ptx::shared_address(bars), empty = full + 8 * stages;

    // Tile n into stage n % stages; called by thread 0.
    auto load = [&](int n) {
        const int s = n % stages;
        // TODO (5 lines): not before all have read the stage; then the bytes,
        //   the copy
    };

    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            // TODO (2 lines): how many arrivals end a phase of either?
        }
        ptx::fence_mbarrier_init();
        for (int n = 0; n < stages - 1 && n < tiles; ++n) load(n);
    }
    __syncthreads();  // the barriers are there for all

    float sum = 0;
    for (int n = 0; n < tiles; ++n) {
        if (t == 0 && n + stages - 1 < tiles) load(n + stages - 1);
        const int s = n % stages;
        // TODO (1 line): wait until the stage is full

        for (int j = 0; j < rows && n * rows + j < Nk; ++j)
            sum += p[n * rows + j] * __half2float(ring[s][j][t]);
        // TODO (1 line): tell thread 0 that I have read it
    }
    O[t] = sum;
}
