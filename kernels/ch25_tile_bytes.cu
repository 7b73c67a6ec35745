// The bytes of a tile as the copy engine lays them into shared memory.
//
// grid:  1                        block: 32 threads
// Xm:    tensor map of fp16 (8, 64), read, boxes (8, 64), any swizzle;
//        or boxes (8, 32) or (8, 16), whose rows are shorter
// place: uint16 (8, 64), written: the tile, byte after byte
// bytes: of the box: 1024, 512 or 256; behind them `place` is 0
#include <ptx_hopper.cuh>

extern "C" __global__ void tile_bytes(
    const __grid_constant__ ptx::TensorMap Xm, unsigned short* place,
    int bytes) {
    __shared__ __align__(1024) unsigned short tile[8 * 64];
    __shared__ __align__(8) unsigned long long full;
    const unsigned bar = ptx::shared_address(&full);
    const int lane = threadIdx.x;

    if (lane == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, bytes);
        ptx::tma_load_2d(ptx::shared_address(tile), &Xm, bar, 0, 0);
    }
    __syncwarp();  // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);
    for (int i = lane; i < 8 * 64; i += 32)
        place[i] = 2 * i < bytes ? tile[i] : 0;
}
