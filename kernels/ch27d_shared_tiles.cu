// energy[i] = the sum of (Q[i] . K[j])^2 over all keys j: two blocks with 64
// queries each need the same tiles of K.
//
// grid:  2 ceil(Nq / 128), in clusters of 2     block: 128 threads: a warpgroup
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 64), read, boxes (32, 64), swizzle 128B
// energy: float32 (Nq), written
// Nq, Nk: any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(128)
shared_tiles(const __grid_constant__ ptx::TensorMap Qm,
             const __grid_constant__ ptx::TensorMap Km, float* energy, int Nq,
             int Nk) {
    constexpr int stages = 2;
    constexpr unsigned tile = 64 * 128, half = tile / 2;  // bytes
    __shared__ __align__(1024) unsigned char Qs[tile], Ks[stages][tile];
    __shared__ __align__(8) unsigned long long bars[1 + 2 * stages];
    const unsigned q_full = ptx::shared_address(bars), full = q_full + 8;
    const unsigned empty = full + 8 * stages, k = ptx::shared_address(Ks);
    const int rank = ptx::cluster_rank();  // 0 or 1
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * 64, tiles = (Nk + 63) / 64;

    auto load = [&](int n) {  // tile n into stage n % stages
        const int s = n % stages, round = n / stages;
        if (round > 0)  // whoever reads the stage has read it
            ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);
        ptx::mbarrier_arrive_expect_tx(full + 8 * s, tile);
        // TODO (2 lines): half of the tile, for both blocks
        for (int part = 0; part < 2; ++part)
            ptx::tma_load_2d(k + s * tile + part * half, &Km, full + 8 * s,
                             0, 64 * n + 32 * part);
    };
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(q_full, 1);
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);
            // TODO (1 line): how many arrivals say that a stage has been read?
            ptx::mbarrier_init(empty + 8 * s, 1);
        }
        ptx::fence_mbarrier_init();
    }
    ptx::cluster_arrive();
    ptx::cluster_wait();  // the barriers of both blocks are there
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(q_full, tile);
        ptx::tma_load_2d(ptx::shared_address(Qs), &Qm, q_full, 0, first);
        load(0);
    }
    ptx::mbarrier_wait_parity(q_full, 0);

    float sum[2] = {0, 0};  // of my two rows
    for (int n = 0; n < tiles; ++n) {
        if (threadIdx.x == 0 && n + 1 < tiles) load(n + 1);
        const int s = n % stages;
        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);
        float S[32];
        const auto a = ptx::wgmma_tile(ptx::shared_address(Qs));
        const auto b = ptx::wgmma_tile(k + s * tile);
        ptx::keep(S);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::Wgmma<64, __half>::tiles(S, a + 2 * i, b + 2 * i, i > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();  // S is here, K's tile has been read
        ptx::keep(S);
        // TODO (3 lines): who must know that I have read the stage?
        if (threadIdx.x == 0) ptx::mbarrier_arrive(empty + 8 * s);
        for (int i = 0; i < 32; ++i) sum[i / 2 % 2] += S[i] * S[i];
    }
    for (int h = 0; h < 2; ++h) {
        const int row = first + 16 * warp + lane / 4 + 8 * h;
        float all = sum[h];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        if (lane % 4 == 0 && row < Nq) energy[row] = all;
    }
    // TODO (2 lines): may I leave while the other block still sends to me?
}
