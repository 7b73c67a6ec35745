// Attention, d = 64: one warp loads, two warpgroups compute.
//
// grid:  (ceil(Nq / 128), heads)     block: 384 threads: warpgroup 0 loads, 1
//        and 2 have 64 query rows each
// shared: dynamic, 65536 bytes: Q, and three stages of K and V
// Qm, Km, Vm: tensor maps of fp16 (heads, N, 64), read, boxes (1, 64, 64),
//        swizzle 128B
// O:     fp16 (heads, Nq, 64), written        LSE: float32 (heads, Nq), written
// Nq, Nk: any >= 1
#include <softmax_rows.cuh>

constexpr int d = 64, Bc = 64, stages = 3;
constexpr unsigned tile = 64 * 128;  // bytes of 64 rows of fp16

extern "C" __global__ void __launch_bounds__(384, 1) flash_specialised(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km,
    const __grid_constant__ ptx::TensorMap Vm, __half* O, float* LSE, int Nq,
    int Nk, float scale) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[1 + 2 * stages];
    const unsigned Qs = ptx::shared_address(memory), Ks = Qs + 2 * tile;
    const unsigned Vs = Ks + stages * tile;
    const unsigned q_full = ptx::shared_address(bars), full = q_full + 8;
    const unsigned empty = full + 8 * stages;
    const int head = blockIdx.y, tiles = (Nk + Bc - 1) / Bc;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    const int first = blockIdx.x * 128;  // the block's first row

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
        for (int i = 0; i < 2; ++i)
            ptx::tma_load_3d(Qs + i * tile, &Qm, q_full, 0, first + 64 * i,
                             head);
        for (int n = 0; n < tiles; ++n) {
            const int s = n % stages, round = n / stages;
            if (round > 0)  // both are done with what it held
                ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);
            ptx::mbarrier_arrive_expect_tx(full + 8 * s, 2 * tile);
            ptx::tma_load_3d(Ks + s * tile, &Km, full + 8 * s, 0, n * Bc, head);
            ptx::tma_load_3d(Vs + s * tile, &Vm, full + 8 * s, 0, n * Bc, head);
        }
        return;
    }

    ptx::more_registers<232>();  // ---- a consumer
    const int w = warpgroup - 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int row = first + 64 * w + 16 * warp + lane / 4;  // mine, and row + 8
    float o[d / 2], m[2] = {-CUDART_INF_F, -CUDART_INF_F}, l[2] = {0, 0};
    ptx::mbarrier_wait_parity(q_full, 0);
    for (int n = 0; n < tiles; ++n) {
        const int s = n % stages;
        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);

        float S[Bc / 2], shrink[2];
        const unsigned long long q = ptx::wgmma_tile(Qs + w * tile);
        const unsigned long long k = ptx::wgmma_tile(Ks + s * tile);
        ptx::keep(S);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < d / 16; ++i)
            ptx::Wgmma<Bc, __half>::tiles(S, q + 2 * i, k + 2 * i, i > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();  // S is here
        ptx::keep(S);

        if (n == tiles - 1) mask_keys(S, n * Bc, Nk, false, 0);
        softmax_rows(S, m, l, shrink, scale * 1.4426950408889634f);
        unsigned P[Bc / 16][4];
#pragma unroll
        for (int i = 0; i < Bc / 16; ++i)
            pack_rows<__half>(P[i], reinterpret_cast<float(&)[8]>(S[8 * i]));
        if (n > 0) scale_rows(o, shrink);

        const unsigned long long v = ptx::wgmma_tile(Vs + s * tile);
        ptx::keep(o);
        ptx::keep(P[0]), ptx::keep(P[1]), ptx::keep(P[2]), ptx::keep(P[3]);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < Bc / 16; ++i)
            ptx::Wgmma<d, __half>::registers(o, P[i], v + 128 * i,
                                             n > 0 || i > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();  // O is here, and nobody of mine reads the stage
        ptx::keep(o);
        if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(empty + 8 * s);
    }

    for (int h = 0; h < 2; ++h) {
        const int r = row + 8 * h;
        const float sum = row_sum(l[h]);
        if (r >= Nq) continue;  // excluded: rows Q hasn't
        if (lane % 4 == 0) LSE[head * Nq + r] = m[h] * scale + logf(sum);
        __half2* to = (__half2*)(O + ((size_t)head * Nq + r) * d);
        for (int i = 0; i < d / 8; ++i)
            to[i * 4 + lane % 4] = __floats2half2_rn(
                o[4 * i + 2 * h] / sum, o[4 * i + 2 * h + 1] / sum);
    }
}
