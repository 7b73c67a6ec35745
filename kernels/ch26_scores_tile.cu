// S = Q K^T for tiles of 64 queries and 64 keys, d = 64: four wgmma a tile.
//
// grid:  (ceil(Nk / 64), ceil(Nq / 64))     block: 128 threads: a warpgroup
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), swizzle 128B
// S:     float32 (Nq, Nk), written
// Nq, Nk: any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void scores_tile(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km, float* S, int Nq, int Nk) {
    constexpr unsigned bytes = 64 * 128;  // of a tile
    __shared__ __align__(1024) unsigned char Qs[bytes], Ks[bytes];
    __shared__ __align__(8) unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int query = blockIdx.y * 64, key = blockIdx.x * 64;  // of the tile
    const unsigned bar = ptx::shared_address(&full);
    const unsigned q = ptx::shared_address(Qs), k = ptx::shared_address(Ks);

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, 2 * bytes);
        ptx::tma_load_2d(q, &Qm, bar, 0, query);
        ptx::tma_load_2d(k, &Km, bar, 0, key);
    }
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // Qs and Ks are filled

    // Where the tiles lie: rows of 128 bytes, swizzled; 8 rows 1024 bytes on.
    const unsigned long long a = ptx::wgmma_tile(q), b = ptx::wgmma_tile(k);
    float s[32];          // of 64 x 64, among 128 threads
    ptx::keep(s);
    ptx::wgmma_fence();   // s may be written by wgmma from here on
#pragma unroll
    for (int step = 0; step < 4; ++step)  // 16 columns: 32 bytes along a row
        ptx::Wgmma<64, __half>::tiles(s, a + 2 * step, b + 2 * step, step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();  // s holds the sums
    ptx::keep(s);

    // My warp's rows 16 warp ..: I have rows lane / 4 and lane / 4 + 8.
    const int row = query + 16 * warp + lane / 4;
    for (int i = 0; i < 32; ++i) {
        const int r = row + i / 2 % 2 * 8;
        const int c = key + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (r < Nq && c < Nk) S[r * Nk + c] = s[i];
    }
}
