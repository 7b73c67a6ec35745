// S = Q K^T for a tile of 64 queries and 64 keys, d = 128: two panels of 64
// columns, eight wgmma.
//
// grid:  (ceil(Nk / 64), ceil(Nq / 64))     block: 128 threads: a warpgroup
// Qm:    tensor map of fp16 (Nq, 128), read, boxes (64, 64), swizzle 128B
// Km:    tensor map of fp16 (Nk, 128), read, boxes (64, 64), swizzle 128B
// S:     float32 (Nq, Nk), written
// Nq, Nk: any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void descriptor(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km, float* S, int Nq, int Nk) {
    constexpr unsigned panel = 64 * 128;  // bytes of 64 rows of 64 columns
    __shared__ __align__(1024) unsigned char Qs[2 * panel], Ks[2 * panel];
    __shared__ __align__(8) unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int query = blockIdx.y * 64, key = blockIdx.x * 64;  // of the tile
    const unsigned bar = ptx::shared_address(&full);
    const unsigned q = ptx::shared_address(Qs), k = ptx::shared_address(Ks);

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, 4 * panel);
        for (int p = 0; p < 2; ++p) {
            ptx::tma_load_2d(q + p * panel, &Qm, bar, 64 * p, query);
            ptx::tma_load_2d(k + p * panel, &Km, bar, 64 * p, key);
        }
    }
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // Qs and Ks are filled

    // Bits 0-13: address / 16; 16-29: not used by this layout, 1; 32-45: bytes
    // from 8 rows to the next 8, / 16; 62-63: 1 for swizzle 128B, 2 for 64B, 3
    // for 32B.
    auto describe = [](unsigned at) {
        //@solution the four fields of a tile at `at`
        return (unsigned long long)(at >> 4) | 1ull << 16 |
               (unsigned long long)(8 * 128 / 16) << 32 | 1ull << 62;
        //@stub
        //@ return (unsigned long long)(at >> 4) | 1ull << 16;
        //@end
    };

    float s[32];  // of 64 x 64, among 128 threads
    ptx::keep(s);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 8; ++step) {  // of 16 columns, in two panels
        //@solution where do the step's 16 columns begin?
        const unsigned at = step / 4 * panel + step % 4 * 32;
        //@stub
        //@ const unsigned at = step * 32;
        //@end
        ptx::Wgmma<64, __half>::tiles(s, describe(q + at), describe(k + at),
                                      step > 0);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::keep(s);

    // Of my warp's 16 rows I have rows lane / 4 and lane / 4 + 8.
    const int row = query + 16 * warp + lane / 4;
    for (int i = 0; i < 32; ++i) {
        const int r = row + i / 2 % 2 * 8;
        const int c = key + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (r < Nq && c < Nk) S[r * Nk + c] = s[i];
    }
}
