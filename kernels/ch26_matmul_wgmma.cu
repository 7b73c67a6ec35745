// C = A B on Hopper's tensor cores: TMA brings tiles, wgmma multiplies.
//
// grid:  1-D, ceil(M / BM) ceil(N / BN) blocks
// block: 256 threads: two warpgroups of 64 rows of C each; thread 0 also loads
// shared: dynamic, stages (BM + BN) BK 2 bytes
// Am:    tensor map of T (M, K), boxes (BM, 64)
// Bm:    tensor map of T (K, N), boxes (BK, 64)
// Cm:    tensor map of T (M, N), boxes (64, 64); all with swizzle 128B
// The sums are float32 and rounded once. N, K: multiples of 8
#include <wgmma_tiles.cuh>

using T = __half;  // __nv_bfloat16 does as well

constexpr int BM = 128, BN = 256, BK = 64, stages = 4;
constexpr int band = 16;  // tiles of C below each other that run together
constexpr unsigned a_bytes = BM * BK * 2, stage_bytes = a_bytes + BK * BN * 2;
constexpr unsigned panel = 64 * 64 * 2;  // 64 rows of 64 columns

extern "C" __global__ void __launch_bounds__(256, 1)
matmul_wgmma(const __grid_constant__ ptx::TensorMap Am,
             const __grid_constant__ ptx::TensorMap Bm,
             const __grid_constant__ ptx::TensorMap Cm, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[stages];
    const unsigned base = ptx::shared_address(memory);
    const unsigned full = ptx::shared_address(bars);  // of stage s: + 8 s
    const int w = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // warpgroup

    // `band` tiles downwards, then one to the right
    const int down = (M + BM - 1) / BM, right = (N + BN - 1) / BN;
    const int start = blockIdx.x / (band * right) * band;
    const int height = min(band, down - start);
    const int inside = blockIdx.x % (band * right);
    const int row = (start + inside % height) * BM, col = inside / height * BN;
    const int steps = (K + BK - 1) / BK;

    auto load = [&](int t) {  // step t's tiles of A and B, by one thread
        const unsigned to = base + t % stages * stage_bytes;
        const unsigned bar = full + t % stages * 8;
        ptx::mbarrier_arrive_expect_tx(bar, stage_bytes);
        ptx::tma_load_2d(to, &Am, bar, t * BK, row);
        for (int p = 0; p < BN / 64; ++p)
            ptx::tma_load_2d(to + a_bytes + p * panel, &Bm, bar, col + 64 * p,
                             t * BK);
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) ptx::mbarrier_init(full + 8 * s, 1);
        ptx::fence_mbarrier_init();
        for (int t = 0; t < stages - 1 && t < steps; ++t) load(t);
    }
    __syncthreads();  // the barriers are there for all

    float c[BN / 2];  // 64 rows of BN columns among 128 threads
    for (int t = 0; t < steps; ++t) {
        ptx::mbarrier_wait_parity(full + t % stages * 8, t / stages & 1);
        const unsigned tile = base + t % stages * stage_bytes;
        const unsigned long long a = ptx::wgmma_tile(tile + w * panel);
        const unsigned long long b = ptx::wgmma_tile(tile + a_bytes, panel);
        ptx::keep(c);
        ptx::wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK / 16; ++k)  // 32 bytes along A, 16 rows of B
            ptx::Wgmma<BN, T>::tiles<1>(c, a + k * 32 / 16,
                                        b + k * 16 * 128 / 16, t > 0 || k > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();  // step t - 1 is done ..
        ptx::keep(c);
        __syncthreads();  // .. by both warpgroups: its stage is free
        if (threadIdx.x == 0 && t + stages - 1 < steps) load(t + stages - 1);
    }
    ptx::wgmma_wait<0>();
    ptx::keep(c);
    __syncthreads();  // all are done with the tiles: C takes their place

#pragma unroll
    for (int p = 0; p < BN / 64; ++p)
        panel_to_shared<T>(base + (4 * w + p) * panel, c, 64 * p);
    ptx::fence_proxy_async();
    // My warpgroup's panels are there, and the copy engine sees them.
    ptx::named_barrier_sync(1 + w, 128);
    if (threadIdx.x % 128 == 0) {
        for (int p = 0; p < BN / 64; ++p)
            ptx::tma_store_2d(&Cm, base + (4 * w + p) * panel, col + 64 * p,
                              row + 64 * w);
        ptx::bulk_commit();
        ptx::bulk_wait<0>();
    }
}
