// O = exp2(S) V with S = Q K^T, for tiles of 64 queries and all of Nk <= 64
// keys, d = 128: the weights go from one wgmma's registers to the next.
//
// grid:  ceil(Nq / 64)            block: 128 threads: a warpgroup
// Qm:    tensor map of fp16 (Nq, 64), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), swizzle 128B
// Vm:    tensor map of fp16 (Nk, 128), read, boxes (64, 64), swizzle 128B
// O:     float32 (Nq, 128), written
// Nq:    any >= 1; Nk: 1 to 64. The weights are rounded to fp16.
#include <ptx_hopper.cuh>

extern "C" __global__ void values(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km,
    const __grid_constant__ ptx::TensorMap Vm, float* O, int Nq) {
    constexpr unsigned panel = 64 * 128;  // bytes of 64 rows of 64 columns
    __shared__ __align__(1024) unsigned char Qs[panel], Ks[panel];
    __shared__ __align__(1024) unsigned char Vs[2 * panel];
    __shared__ __align__(8) unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned bar = ptx::shared_address(&full);
    const unsigned q = ptx::shared_address(Qs), k = ptx::shared_address(Ks);
    const unsigned v = ptx::shared_address(Vs);

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, 4 * panel);
        ptx::tma_load_2d(q, &Qm, bar, 0, blockIdx.x * 64);
        ptx::tma_load_2d(k, &Km, bar, 0, 0);
        for (int p = 0; p < 2; ++p)  // columns 0 .. 63, then 64 .. 127
            ptx::tma_load_2d(v + p * panel, &Vm, bar, 64 * p, 0);
    }
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // all tiles are filled

    float s[32];
    ptx::keep(s);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        ptx::Wgmma<64, __half>::tiles(s, ptx::wgmma_tile(q) + 2 * step,
                                      ptx::wgmma_tile(k) + 2 * step, step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::keep(s);

    // A key that isn't there has the score 0, so the weight 1, and zeros in V.
#pragma unroll
    for (int i = 0; i < 32; ++i) s[i] = ptx::exp2_approx(s[i]);
    unsigned p[4][4];  // the weights as four fragments of A, of 16 keys each
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            // TODO (2 lines): which two of s are p[step][i]?
            p[step][i] = 0;

    float o[64];  // of 64 x 128
    ptx::keep(o);
    ptx::keep(p[0]), ptx::keep(p[1]), ptx::keep(p[2]), ptx::keep(p[3]);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        // TODO (2 lines): V's tile: its panels, its 8-row groups, the step's 16
        //   keys
        const unsigned long long b = ptx::wgmma_tile(v + step * 32);
        ptx::Wgmma<128, __half>::registers(o, p[step], b, step > 0);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::keep(o);

    const int row = blockIdx.x * 64 + 16 * warp + lane / 4;
    for (int i = 0; i < 64; ++i) {
        const int r = row + i / 2 % 2 * 8;
        if (r < Nq) O[r * 128 + i / 4 * 8 + lane % 4 * 2 + i % 2] = o[i];
    }
}
