// LSE[i] = log(sum of exp(Q[i] . K[j] scale) over all keys j): one warp brings
// the tiles of K, two warpgroups have 64 queries each.
//
// grid:  ceil(Nq / 128)           block: 384 threads: warpgroup 0 loads
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), swizzle 128B
// LSE:   float32 (Nq), written
// Nq, Nk: any >= 1
#include <softmax_rows.cuh>

extern "C" __global__ void __launch_bounds__(384, 1) producer(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km, float* LSE, int Nq, int Nk,
    float scale) {
    constexpr int stages = 3;
    constexpr unsigned tile = 64 * 128;  // bytes of 64 rows
    __shared__ __align__(1024) unsigned char Qs[2][tile], Ks[stages][tile];
    __shared__ __align__(8) unsigned long long bars[1 + 2 * stages];
    const unsigned q_full = ptx::shared_address(bars), full = q_full + 8;
    const unsigned empty = full + 8 * stages;  // of stage s: 8 s further
    const int tiles = (Nk + 63) / 64, first = blockIdx.x * 128;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(q_full, 1);
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);   // the producer, and bytes
            ptx::mbarrier_init(empty + 8 * s, 2);  // one for each warpgroup
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there for all

    if (warpgroup == 0) {  // ---- the producer
        ptx::fewer_registers<40>();
        if (threadIdx.x != 0) return;
        ptx::mbarrier_arrive_expect_tx(q_full, 2 * tile);
        for (int w = 0; w < 2; ++w)
            ptx::tma_load_2d(ptx::shared_address(Qs[w]), &Qm, q_full, 0,
                             first + 64 * w);
        //@solution all tiles of K, each when its stage is free
        for (int n = 0; n < tiles; ++n) {
            const int s = n % stages, round = n / stages;
            if (round > 0)
                ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);
            ptx::mbarrier_arrive_expect_tx(full + 8 * s, tile);
            ptx::tma_load_2d(ptx::shared_address(Ks[s]), &Km, full + 8 * s, 0,
                             64 * n);
        }
        //@end
        return;
    }

    ptx::more_registers<232>();  // ---- a consumer
    const int w = warpgroup - 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float m[2] = {-CUDART_INF_F, -CUDART_INF_F}, l[2] = {0, 0}, shrink[2];
    ptx::mbarrier_wait_parity(q_full, 0);
    for (int n = 0; n < tiles; ++n) {
        const int s = n % stages;
        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);
        float S[32];
        const auto q = ptx::wgmma_tile(ptx::shared_address(Qs[w]));
        const auto k = ptx::wgmma_tile(ptx::shared_address(Ks[s]));
        ptx::keep(S);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::Wgmma<64, __half>::tiles(S, q + 2 * i, k + 2 * i, i > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();  // S is here, K's tile has been read
        ptx::keep(S);
        if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(empty + 8 * s);
        mask_keys(S, n * 64, Nk, false, 0);
        softmax_rows(S, m, l, shrink, scale * 1.4426950408889634f);
    }
    for (int h = 0; h < 2; ++h) {
        const int row = first + 64 * w + 16 * warp + lane / 4 + 8 * h;
        const float sum = row_sum(l[h]);
        if (lane % 4 == 0 && row < Nq) LSE[row] = m[h] * scale + logf(sum);
    }
}
