// O = P V for tiles of 64 queries, 64 keys and d = 64: P comes from registers.
//
// grid:  ceil(Nq / 64)            block: 128 threads: a warpgroup
// P:     float32 (Nq, 64), read: weights of 64 keys; rounded to fp16
// Vm:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), swizzle 128B
// O:     float32 (Nq, 64), written
// Nq:    any >= 1; Nk: 1 to 64; the weight of a key that isn't there is 0
#include <ptx_hopper.cuh>

extern "C" __global__ void values_tile(
    const float* P, const __grid_constant__ ptx::TensorMap Vm, float* O,
    int Nq) {
    constexpr unsigned bytes = 64 * 128;  // of V's tile
    __shared__ __align__(1024) unsigned char Vs[bytes];
    __shared__ __align__(8) unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned bar = ptx::shared_address(&full);
    const unsigned v = ptx::shared_address(Vs);

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, bytes);
        ptx::tma_load_2d(v, &Vm, bar, 0, 0);
    }

    // What a wgmma for S leaves a thread: of its rows lane / 4 and lane / 4 + 8
    // two neighbours in every 8 columns. Two of these are a fragment of A.
    const int row = blockIdx.x * 64 + 16 * warp + lane / 4;
    unsigned p[4][4];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int r = row + i % 2 * 8, c = i / 2 * 8 + lane % 4 * 2;
        const bool real = r < Nq;
        p[i / 4][i % 4] = ptx::pack2(real ? P[r * 64 + c] : 0.0f,
                                     real ? P[r * 64 + c + 1] : 0.0f, __half());
    }
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // Vs is filled

    // V's rows are keys: what is summed over runs down, d lies along a row.
    const unsigned long long b = ptx::wgmma_tile(v);
    float o[32];
    ptx::keep(o);
    ptx::keep(p[0]), ptx::keep(p[1]), ptx::keep(p[2]), ptx::keep(p[3]);
    ptx::wgmma_fence();  // p is written, o may be
#pragma unroll
    for (int step = 0; step < 4; ++step)  // 16 keys: 16 rows of 128 bytes
        ptx::Wgmma<64, __half>::registers(o, p[step], b + 128 * step, step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::keep(o);

    for (int i = 0; i < 32; ++i) {
        const int r = row + i / 2 % 2 * 8;
        if (r < Nq) O[r * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = o[i];
    }
}
