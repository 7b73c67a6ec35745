// S = (scale Q) K^T for tiles of 64 queries and all of Nk keys, d = 64: Q is
// scaled where it lies, in shared memory; K's tiles take turns in two stages.
//
// grid:  ceil(Nq / 64)            block: 128 threads: a warpgroup
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), swizzle 128B
// S:     float32 (Nq, Nk), written
// Nq, Nk: any >= 1; scale Q is rounded to fp16
#include <ptx_hopper.cuh>

extern "C" __global__ void who_waits(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km, float* S, int Nq, int Nk,
    float scale) {
    constexpr int stages = 2;
    constexpr unsigned bytes = 64 * 128;  // of a tile
    __shared__ __align__(1024) unsigned char Qs[bytes], Ks[stages][bytes];
    __shared__ __align__(8) unsigned long long bars[1 + stages];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int query = blockIdx.x * 64, tiles = (Nk + 63) / 64;
    const unsigned bar = ptx::shared_address(bars), full = bar + 8;
    const unsigned q = ptx::shared_address(Qs), k = ptx::shared_address(Ks);

    auto load = [&](int n) {  // K's tile n into stage n % stages
        const int s = n % stages;
        ptx::mbarrier_arrive_expect_tx(full + 8 * s, bytes);
        ptx::tma_load_2d(k + s * bytes, &Km, full + 8 * s, 0, 64 * n);
    };
    if (t == 0) {
        for (int i = 0; i < 1 + stages; ++i) ptx::mbarrier_init(bar + 8 * i, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, bytes);
        ptx::tma_load_2d(q, &Qm, bar, 0, query);
        for (int n = 0; n < stages && n < tiles; ++n) load(n);
    }
    __syncthreads();                    // the barriers are there for all
    ptx::mbarrier_wait_parity(bar, 0);  // Qs is filled

    __half2* pair = (__half2*)Qs;  // 64 x 32 of them
    for (int i = t; i < 64 * 32; i += 128) {
        const float2 x = __half22float2(pair[i]);
        pair[i] = __floats2half2_rn(scale * x.x, scale * x.y);
    }
    //@solution wgmma reads by another way than threads write
    ptx::fence_proxy_async();  // what I wrote, for wgmma to read
    //@end
    __syncthreads();  // Qs is scaled

    for (int n = 0; n < tiles; ++n) {
        const unsigned b = k + n % stages * bytes;
        ptx::mbarrier_wait_parity(full + n % stages * 8, n / stages & 1);
        float s[32];
        ptx::keep(s);
        //@solution may wgmma write s already?
        ptx::wgmma_fence();
        //@end
#pragma unroll
        for (int step = 0; step < 4; ++step)
            ptx::Wgmma<64, __half>::tiles(s, ptx::wgmma_tile(q) + 2 * step,
                                          ptx::wgmma_tile(b) + 2 * step,
                                          step > 0);
        ptx::wgmma_commit();
        //@solution how many groups may still be under way?
        ptx::wgmma_wait<0>();
        //@stub
        //@ ptx::wgmma_wait<1>();
        //@end
        ptx::keep(s);
        // The warpgroup multiplies as one: its stage has been read. Refill it.
        if (t == 0 && n + stages < tiles) load(n + stages);

        const int row = query + 16 * warp + lane / 4;
        for (int i = 0; i < 32; ++i) {
            const int r = row + i / 2 % 2 * 8;
            const int c = 64 * n + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (r < Nq && c < Nk) S[r * Nk + c] = s[i];
        }
    }
}
