// C = A B^T: one warp loads, two warpgroups multiply, and a product is still
// under way while the next one begins.
//
// grid:  (ceil(N / 64), ceil(M / 128))      block: 384 threads
// shared: dynamic, 73728 bytes: three stages of A and B
// Am:    tensor map of fp16 (M, K), read, boxes (64, 64), swizzle 128B
// Bm:    tensor map of fp16 (N, K), read, boxes (64, 64), swizzle 128B
// C:     float32 (M, N), written
// M, N:  any >= 1          K: a multiple of 8
#include <ptx_hopper.cuh>

extern "C" __global__ void __launch_bounds__(384, 1) late_release(
    const __grid_constant__ ptx::TensorMap Am,
    const __grid_constant__ ptx::TensorMap Bm, float* C, int M, int N, int K) {
    constexpr int stages = 3;
    constexpr unsigned tile = 64 * 128;  // bytes of 64 rows; A has two, B one
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[2 * stages];
    const unsigned full = ptx::shared_address(bars), empty = full + 8 * stages;
    const unsigned base = ptx::shared_address(memory);  // stage s: 3 s tile on
    const int row = blockIdx.y * 128, col = blockIdx.x * 64;
    const int steps = (K + 63) / 64;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);

    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);
            // TODO (1 line): how many arrivals make a stage empty?
            ptx::mbarrier_init(empty + 8 * s, 256);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there for all

    if (warpgroup == 0) {  // ---- the producer
        if (threadIdx.x != 0) return;
        for (int t = 0; t < steps; ++t) {
            const int s = t % stages, round = t / stages;
            const unsigned to = base + 3 * s * tile, bar = full + 8 * s;
            if (round > 0)
                ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);
            ptx::mbarrier_arrive_expect_tx(bar, 3 * tile);
            ptx::tma_load_2d(to, &Am, bar, 64 * t, row);
            ptx::tma_load_2d(to + tile, &Am, bar, 64 * t, row + 64);
            ptx::tma_load_2d(to + 2 * tile, &Bm, bar, 64 * t, col);
        }
        return;
    }

    const int w = warpgroup - 1;  // ---- a consumer: 64 rows of C
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float c[32];
    for (int t = 0; t < steps; ++t) {
        const int s = t % stages;
        ptx::mbarrier_wait_parity(full + 8 * s, t / stages & 1);
        const auto a = ptx::wgmma_tile(base + (3 * s + w) * tile);
        const auto b = ptx::wgmma_tile(base + (3 * s + 2) * tile);
        ptx::keep(c);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::Wgmma<64, __half>::tiles(c, a + 2 * i, b + 2 * i,
                                          t > 0 || i > 0);
        ptx::wgmma_commit();
        // TODO (4 lines): one thread frees a stage that is no longer read
        ptx::wgmma_wait<1>();
        ptx::keep(c);
    }
    ptx::wgmma_wait<0>();
    ptx::keep(c);
    for (int i = 0; i < 32; ++i) {
        const int r = row + 64 * w + 16 * warp + lane / 4 + i / 2 % 2 * 8;
        const int x = col + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (r < M && x < N) C[(size_t)r * N + x] = c[i];
    }
}
