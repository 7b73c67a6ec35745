// O = softmax(Q K^T scale) V. The softmax of a tile runs while the tensor cores
// still multiply P V of the tile before.
//
// grid:  ceil(Nq / 64)            block: 128 threads: a warpgroup
// shared: dynamic, 40960 bytes: Q, and two stages of K and V
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km, Vm: tensor maps of fp16 (Nk, 64), read, the same boxes
// O:     float32 (Nq, 64), written
// Nq, Nk: any >= 1
#include <softmax_rows.cuh>

extern "C" __global__ void __launch_bounds__(128) overlap(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km,
    const __grid_constant__ ptx::TensorMap Vm, float* O, int Nq, int Nk,
    float scale) {
    constexpr int stages = 2;
    constexpr unsigned tile = 64 * 128;  // bytes of 64 rows
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[stages];
    const unsigned Qs = ptx::shared_address(memory), Ks = Qs + tile;
    const unsigned Vs = Ks + stages * tile, full = ptx::shared_address(bars);
    const int tiles = (Nk + 63) / 64, first = blockIdx.x * 64;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = first + 16 * warp + lane / 4;  // mine, and row + 8

    auto load = [&](int n) {  // K and V of tile n; with the first one also Q
        const unsigned bar = full + n % stages * 8;
        ptx::mbarrier_arrive_expect_tx(bar, (n == 0 ? 3 : 2) * tile);
        if (n == 0) ptx::tma_load_2d(Qs, &Qm, bar, 0, first);
        ptx::tma_load_2d(Ks + n % stages * tile, &Km, bar, 0, 64 * n);
        ptx::tma_load_2d(Vs + n % stages * tile, &Vm, bar, 0, 64 * n);
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) ptx::mbarrier_init(full + 8 * s, 1);
        ptx::fence_mbarrier_init();
        for (int n = 0; n < 2 && n < tiles; ++n) load(n);
    }
    __syncthreads();  // the barriers are there for all
    float o[32], S[32], m[2] = {-CUDART_INF_F, -CUDART_INF_F}, l[2] = {0, 0};
    float shrink[2];  // of older sums
    unsigned P[4][4];

    auto begin_scores = [&](int n) {  // S = Q K^T of tile n
        const auto q = ptx::wgmma_tile(Qs);
        const auto k = ptx::wgmma_tile(Ks + n % stages * tile);
        ptx::mbarrier_wait_parity(full + n % stages * 8, n / stages & 1);
        ptx::keep(S), ptx::keep(o);
        ptx::keep(P[0]), ptx::keep(P[1]), ptx::keep(P[2]), ptx::keep(P[3]);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::Wgmma<64, __half>::tiles(S, q + 2 * i, k + 2 * i, i > 0);
    };
    auto begin_values = [&](int n) {  // O += P V of tile n
        const auto v = ptx::wgmma_tile(Vs + n % stages * tile);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::Wgmma<64, __half>::registers(o, P[i], v + 128 * i,
                                              n > 0 || i > 0);
    };
    auto softmax = [&](int n) {  // S becomes weights
        ptx::keep(S);
        mask_keys(S, n * 64, Nk, false, 0);
        softmax_rows(S, m, l, shrink, scale * 1.4426950408889634f);
    };
    auto pack = [&] {  // P is written
#pragma unroll
        for (int i = 0; i < 16; ++i)
            P[i / 4][i % 4] = ptx::pack2(S[2 * i], S[2 * i + 1], __half());
    };

    begin_scores(0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    softmax(0);
    pack();
    for (int n = 1; n < tiles; ++n) {  // P is that of tile n - 1
        //@solution two products, two groups: which one is waited for when?
        begin_scores(n);
        ptx::wgmma_commit();
        begin_values(n - 1);
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();  // the older group: S is here
        softmax(n);
        ptx::wgmma_wait<0>();  // O is here: P and V's stage are free
        ptx::keep(o);
        scale_rows(o, shrink);
        pack();
        //@stub
        //@ begin_scores(n);
        //@ begin_values(n - 1);
        //@ ptx::wgmma_commit();
        //@ softmax(n);
        //@ ptx::wgmma_wait<1>();
        //@ ptx::keep(o);
        //@ scale_rows(o, shrink);
        //@ pack();
        //@end
        // No product of the warpgroup reads tile n - 1 any more: its stage is
        // free for tile n + 1.
        if (threadIdx.x == 0 && n + 1 < tiles) load(n + 1);
    }
    ptx::keep(o);
    ptx::keep(P[0]), ptx::keep(P[1]), ptx::keep(P[2]), ptx::keep(P[3]);
    ptx::wgmma_fence();
    begin_values(tiles - 1);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::keep(o);
    for (int h = 0; h < 2; ++h) l[h] = row_sum(l[h]);
    for (int i = 0; i < 32; ++i) {
        const int r = row + i / 2 % 2 * 8;
        const int c = i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (r < Nq) O[r * 64 + c] = o[i] / l[i / 2 % 2];
    }
}
