// A tile of 1024 bytes as the copy engine lays it into shared memory.
//
// grid:  1                        block: 32 threads
// Xm:    tensor map of fp16 (8, 64), (16, 32) or (32, 16), read; boxes of the
//        whole array, any swizzle
// place: fp16 (512), written: the tile, element after element
#include <ptx_hopper.cuh>

extern "C" __global__ void tile_bytes(
    const __grid_constant__ ptx::TensorMap Xm, __half* place) {
    __shared__ __align__(1024) __half tile[512];
    __shared__ __align__(8) unsigned long long full;
    const unsigned bar = ptx::shared_address(&full);
    const int lane = threadIdx.x;

    if (lane == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, sizeof(tile));
        ptx::tma_load_2d(ptx::shared_address(tile), &Xm, bar, 0, 0);
    }
    __syncwarp();                       // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // tile is filled
    for (int i = lane; i < 512; i += 32) place[i] = tile[i];
}
