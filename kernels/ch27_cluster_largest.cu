// m[i] = the largest Q[i] . K[j]: two blocks with 64 queries each take every
// tile of K from memory once, half a tile each, sent to both.
//
// grid:  2 ceil(Nq / 128), in clusters of 2     block: 128 threads: a warpgroup
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 64), read, boxes (32, 64), swizzle 128B
// m:     float32 (Nq), written
// Nq, Nk: any >= 1
#include <math_constants.h>
#include <ptx_hopper.cuh>

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(128)
cluster_largest(const __grid_constant__ ptx::TensorMap Qm,
                const __grid_constant__ ptx::TensorMap Km, float* m, int Nq,
                int Nk) {
    constexpr int stages = 2;
    constexpr unsigned tile = 64 * 128, half = tile / 2;  // bytes
    __shared__ __align__(1024) unsigned char Qs[tile], Ks[stages][tile];
    __shared__ __align__(8) unsigned long long bars[1 + 2 * stages];
    const unsigned q_full = ptx::shared_address(bars), full = q_full + 8;
    const unsigned empty = full + 8 * stages, k = ptx::shared_address(Ks);
    const unsigned rank = ptx::cluster_rank();  // 0 or 1
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * 64, tiles = (Nk + 63) / 64;

    auto load = [&](int n) {  // my half of tile n, into the same place of both
        const int s = n % stages, round = n / stages;
        if (round > 0)  // both blocks have read what it held
            ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);
        ptx::mbarrier_arrive_expect_tx(full + 8 * s, tile);  // two halves come
        ptx::tma_load_2d_multicast(k + s * tile + rank * half, &Km,
                                   full + 8 * s, 0, n * 64 + rank * 32, 3);
    };
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(q_full, 1);
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);
            ptx::mbarrier_init(empty + 8 * s, 2);  // one arrival a block
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

    float largest[2] = {-CUDART_INF_F, -CUDART_INF_F};  // of my two rows
    for (int n = 0; n < tiles; ++n) {
        if (threadIdx.x == 0 && n + 1 < tiles) load(n + 1);
        const int s = n % stages;
        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);
        float S[32];
        const unsigned long long a = ptx::wgmma_tile(ptx::shared_address(Qs));
        const unsigned long long b = ptx::wgmma_tile(k + s * tile);
        ptx::keep(S);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::Wgmma<64, __half>::tiles(S, a + 2 * i, b + 2 * i, i > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();  // S is here, K's tile has been read
        ptx::keep(S);
        if (threadIdx.x < 2)  // thread r tells block r
            ptx::mbarrier_arrive_cluster(
                ptx::map_to_rank(empty + 8 * s, threadIdx.x));
        for (int i = 0; i < 32; ++i) {
            const int key = n * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (key < Nk) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], S[i]);
        }
    }
    for (int h = 0; h < 2; ++h) {
        const int row = first + 16 * warp + lane / 4 + 8 * h;
        float top = largest[h];
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        if (lane % 4 == 0 && row < Nq) m[row] = top;
    }
    ptx::cluster_arrive();
    ptx::cluster_wait();  // nobody leaves while the other still writes to it
}
