// O[i][j] = a[i] b[j], tile after tile, as a kernel leaves its accumulators:
// through shared memory, by the copy engine, while the next tile is computed.
//
// grid:  any; block k takes tiles k, k + grid, ..      block: 128 threads
// a:     float32 (N), read        b: float32 (64), read
// O:     fp16 (N, 64), written    Om: tensor map of O, boxes (64, 64), swizzle
//        128B
// N:     any >= 1
#include <wgmma_tiles.cuh>

extern "C" __global__ void __launch_bounds__(128) store_tiles(
    const float* a, const float* b, __half* O,
    const __grid_constant__ ptx::TensorMap Om, int N) {
    __shared__ __align__(1024) unsigned char Os[64 * 128];
    const unsigned at = ptx::shared_address(Os);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    for (int tile = blockIdx.x; 64 * tile < N; tile += gridDim.x) {
        const int row = 64 * tile + 16 * warp + lane / 4;  // mine, and row + 8
        float c[32];  // as wgmma leaves 64 columns of two rows
        for (int i = 0; i < 32; ++i) {
            const int r = row + i / 2 % 2 * 8;
            const float x = r < N ? a[r] : 0;
            c[i] = x * b[i / 4 * 8 + lane % 4 * 2 + i % 2];
        }

        //@solution when may Os be overwritten, when may it be stored, by whom?
        if (threadIdx.x == 0) ptx::bulk_wait_read<0>();
        __syncthreads();  // the copy engine has read the tile before
        panel_to_shared<__half>(at, c, 0);
        ptx::fence_proxy_async();
        __syncthreads();  // the tile is there, and the copy engine sees it
        if (threadIdx.x == 0) {
            ptx::tma_store_2d(&Om, at, 0, 64 * tile);
            ptx::bulk_commit();
        }
        //@stub
        //@ for (int i = 0; i < 32; i += 2) {
        //@     const int r = row + i / 2 % 2 * 8;
        //@     const int j = i / 4 * 8 + lane % 4 * 2;
        //@     if (r < N) *(__half2*)(O + (size_t)r * 64 + j) =
        //@         __floats2half2_rn(c[i], c[i + 1]);
        //@ }
        //@end
    }
    //@solution what must have happened before the block ends?
    if (threadIdx.x == 0) ptx::bulk_wait<0>();
    //@end
}
