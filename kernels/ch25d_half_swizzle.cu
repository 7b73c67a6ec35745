// S[j] = K[j] . q for d = 32: a row of a tile has 64 bytes, and the copy engine
// swizzles it with mode 64B.
//
// grid:  ceil(Nk / 64) blocks     block: 64 threads: one for each key
// Km:    tensor map of fp16 (Nk, 32), read, boxes (64, 32), swizzle 64B
// q:     float32 (32), read       S: float32 (Nk), written
// Nk:    any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void half_swizzle(
    const __grid_constant__ ptx::TensorMap Km, const float* q, float* S,
    int Nk) {
    constexpr unsigned bytes = 64 * 64;  // of a box
    __shared__ __align__(512) unsigned char tile[bytes];
    __shared__ __align__(8) unsigned long long full;
    __shared__ float qs[32];
    const int t = threadIdx.x;          // my key of the tile, my row
    const int first = blockIdx.x * 64;  // the tile's first key
    const unsigned bar = ptx::shared_address(&full);

    if (t == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(bar, bytes);
        ptx::tma_load_2d(ptx::shared_address(tile), &Km, bar, 0, first);
    }
    if (t < 32) qs[t] = q[t];           // while the copy is under way
    __syncthreads();                    // qs is filled, the barrier is there
    ptx::mbarrier_wait_parity(bar, 0);  // tile is filled

    float s = 0;
    for (int c = 0; c < 4; ++c) {  // 4 chunks of 16 bytes
        // TODO (1 line): where chunk c of row t lies: bits 4, 5 ^= bits 7, 8
        const int place = t * 64 + c * 16;
        const uint4 x = *(const uint4*)(tile + place);
        const __half* k = (const __half*)&x;
        for (int i = 0; i < 8; ++i) s += __half2float(k[i]) * qs[8 * c + i];
    }
    if (first + t < Nk) S[first + t] = s;  // excluded: rows past the last key
}
