// D = A B^T for one tile, left where wgmma leaves it: every thread writes its
// registers one behind the other.
//
// grid:  1                        block: 128 threads: a warpgroup
// Am:    tensor map of fp16 (64, 64), read, boxes (64, 64), swizzle 128B
// Bm:    tensor map of fp16 (64, 64), read, boxes (64, 64), swizzle 128B
// D:     float32 (128, 32), written: thread, register
#include <ptx_hopper.cuh>

extern "C" __global__ void fragment_map(
    const __grid_constant__ ptx::TensorMap Am,
    const __grid_constant__ ptx::TensorMap Bm, float* D) {
    constexpr unsigned bytes = 64 * 128;  // of a tile
    __shared__ __align__(1024) unsigned char As[bytes], Bs[bytes];
    __shared__ __align__(8) unsigned long long full;
    const unsigned bar = ptx::shared_address(&full);
    const unsigned a = ptx::shared_address(As), b = ptx::shared_address(Bs);

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, 2 * bytes);
        ptx::tma_load_2d(a, &Am, bar, 0, 0);
        ptx::tma_load_2d(b, &Bm, bar, 0, 0);
    }
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // As and Bs are filled

    float d[32];
    ptx::keep(d);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k)
        ptx::Wgmma<64, __half>::tiles(d, ptx::wgmma_tile(a) + 2 * k,
                                      ptx::wgmma_tile(b) + 2 * k, k > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::keep(d);
    for (int i = 0; i < 32; ++i) D[threadIdx.x * 32 + i] = d[i];
}
