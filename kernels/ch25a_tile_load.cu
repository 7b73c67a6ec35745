// Each block's share of O = p V: weights times its 64 rows of V, a tile that
// the copy engine brings.
//
// grid:  blocks = ceil(Nk / 64)   block: 64 threads: one for each column
// Vm:    tensor map of fp16 (Nk, d), read, boxes (64, 64), no swizzle
// p:     float32 (Nk), read
// O:     float32 (blocks, d), written: a row for each block
// Nk:    any >= 1
// d:     a multiple of 8, at most 64
#include <ptx_hopper.cuh>

extern "C" __global__ void tile_load(
    const __grid_constant__ ptx::TensorMap Vm, const float* p, float* O,
    int Nk, int d) {
    __shared__ __align__(128) __half tile[64][64];  // rows of V
    __shared__ __align__(8) unsigned long long full;
    const int t = threadIdx.x;          // my column of the tile
    const int first = blockIdx.x * 64;  // the tile's first row
    const unsigned bar = ptx::shared_address(&full);
    const unsigned at = ptx::shared_address(tile);

    if (t == 0) {
        // TODO (4 lines): a barrier, the bytes it has to wait for, the copy
        ptx::mbarrier_init(bar, min(64, Nk - first) * d * 2);
        ptx::fence_mbarrier_init();
        ptx::tma_load_2d(at, &Vm, bar, first, 0);
    }
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // tile is filled

    float sum = 0;
    for (int j = 0; j < 64; ++j)
        if (first + j < Nk) sum += p[first + j] * __half2float(tile[j][t]);
    if (t < d) O[blockIdx.x * d + t] = sum;  // excluded: columns V hasn't
}
