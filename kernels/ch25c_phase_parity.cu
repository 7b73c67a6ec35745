// m[i] = the largest of x[i], rows of any length: a tile of 64 columns after
// the other passes through two stages.
//
// grid:  ceil(N / 64) blocks      block: 64 threads: one for each row
// xm:    tensor map of fp16 (N, width), read, boxes (64, 64), swizzle 128B
// m:     float32 (N), written
// N:     any >= 1
// width: a multiple of 8
#include <ptx_hopper.cuh>
#include <math_constants.h>

extern "C" __global__ void phase_parity(
    const __grid_constant__ ptx::TensorMap xm, float* m, int N, int width) {
    constexpr int stages = 2;
    constexpr unsigned bytes = 64 * 128;  // of a box
    __shared__ __align__(1024) unsigned char tile[stages][bytes];
    __shared__ __align__(8) unsigned long long full[stages];
    const int t = threadIdx.x;          // my row of the tile
    const int first = blockIdx.x * 64;  // the tile's first row
    const int tiles = (width + 63) / 64;
    const unsigned bar = ptx::shared_address(full);  // of stage s: bar + 8 s

    if (t == 0) {
        for (int s = 0; s < stages; ++s) ptx::mbarrier_init(bar + 8 * s, 1);
        ptx::fence_mbarrier_init();
        for (int n = 0; n < stages && n < tiles; ++n) {
            ptx::mbarrier_arrive_expect_tx(bar + 8 * n, bytes);
            ptx::tma_load_2d(ptx::shared_address(tile[n]), &xm, bar + 8 * n,
                             64 * n, first);
        }
    }
    __syncthreads();  // the barriers are there for all

    float largest = -CUDART_INF_F;
    for (int n = 0; n < tiles; ++n) {
        const int s = n % stages;
        // TODO (1 line): the parity of the phase that this stage is in
        ptx::mbarrier_wait_parity(bar + 8 * s, n & 1);

        const int columns = min(64, width - 64 * n);  // that there are
        for (int c = 0; c < columns / 8; ++c) {
            const int place = t * 128 + (c ^ t % 8) * 16;  // chunk c of my row
            const uint4 x = *(const uint4*)(tile[s] + place);
            const __half* h = (const __half*)&x;
            for (int i = 0; i < 8; ++i)
                largest = fmaxf(largest, __half2float(h[i]));
        }
        __syncthreads();  // all have read the stage
        if (t == 0 && n + stages < tiles) {
            ptx::mbarrier_arrive_expect_tx(bar + 8 * s, bytes);
            ptx::tma_load_2d(ptx::shared_address(tile[s]), &xm, bar + 8 * s,
                             64 * (n + stages), first);
        }
    }
    if (first + t < N) m[first + t] = largest;  // excluded: rows x hasn't
}
