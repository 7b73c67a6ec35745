// O[i] = X[i] / l[i], as at the end of an attention kernel: the copy engine
// brings tiles of 64 rows and takes them away.
//
// grid:  ceil(N / 64) blocks      block: 64 threads: one for each row
// Xm:    tensor map of fp16 (N, 64), read, boxes (64, 64), swizzle 128B
// l:     float32 (N), read
// Om:    tensor map of fp16 (N, 64), written, boxes (64, 64), swizzle 128B
// N:     any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void divide_rows(
    const __grid_constant__ ptx::TensorMap Xm, const float* l,
    const __grid_constant__ ptx::TensorMap Om, int N) {
    constexpr unsigned bytes = 64 * 128;  // of a box
    __shared__ __align__(1024) unsigned char tile[bytes];
    __shared__ __align__(8) unsigned long long full;
    const int t = threadIdx.x;          // my row of the tile
    const int first = blockIdx.x * 64;  // the tile's first row
    const unsigned bar = ptx::shared_address(&full);
    const unsigned at = ptx::shared_address(tile);

    if (t == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, bytes);
        ptx::tma_load_2d(at, &Xm, bar, 0, first);
    }
    const float factor = first + t < N ? 1 / l[first + t] : 0.0f;
    __syncthreads();                    // the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // tile is filled

    // Which chunk of my row this is doesn't matter: all are divided by l.
    for (int c = 0; c < 8; ++c) {
        uint4* chunk = (uint4*)(tile + t * 128 + (c ^ t % 8) * 16);
        uint4 x = *chunk;
        __half2* pair = (__half2*)&x;
        for (int i = 0; i < 4; ++i) {
            const float2 f = __half22float2(pair[i]);
            pair[i] = __floats2half2_rn(f.x * factor, f.y * factor);
        }
        *chunk = x;
    }
    ptx::fence_proxy_async();  // what I wrote, for the copy engine to read
    __syncthreads();           // all rows are written
    if (t == 0) {
        ptx::tma_store_2d(&Om, at, 0, first);  // rows past the last: left out
        ptx::bulk_commit();
        ptx::bulk_wait<0>();  // done before the block, and its tile, end
    }
}
