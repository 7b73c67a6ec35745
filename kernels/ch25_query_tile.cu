// S[j] = K[j] . q: the copy engine brings each tile of 64 keys.
//
// grid:  ceil(Nk / 64) blocks     block: 64 threads: one for each key
// Km:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), no swizzle
// q:     float32 (64), read       S: float32 (Nk), written
// Nk:    any >= 1
#include <ptx_hopper.cuh>

// The share of 8 columns: a 16-byte chunk of a row of K, 8 numbers of q.
__device__ float dot8(uint4 chunk, const float* q) {
    const __half2* k = (const __half2*)&chunk;
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(k[i]);
        sum += pair.x * q[2 * i] + pair.y * q[2 * i + 1];
    }
    return sum;
}

extern "C" __global__ void query_tile(
    const __grid_constant__ ptx::TensorMap Km, const float* q, float* S,
    int Nk) {
    constexpr unsigned bytes = 64 * 128;  // of a box
    __shared__ __align__(1024) unsigned char tile[bytes];
    __shared__ __align__(8) unsigned long long full;
    __shared__ float qs[64];
    const int t = threadIdx.x;          // my key of the tile, my row
    const int first = blockIdx.x * 64;  // the tile's first key
    const unsigned bar = ptx::shared_address(&full);

    qs[t] = q[t];
    if (t == 0) {
        ptx::mbarrier_init(bar, 1);  // a phase: one arrival, and its bytes
        ptx::fence_mbarrier_init();  // the copy engine sees the barrier
        ptx::mbarrier_arrive_expect_tx(bar, bytes);  // that one arrival
        ptx::tma_load_2d(ptx::shared_address(tile), &Km, bar, 0, first);
    }
    __syncthreads();  // qs is filled, the barrier is there for all
    ptx::mbarrier_wait_parity(bar, 0);  // phase 0 has ended: tile is filled

    float s = 0;
    for (int c = 0; c < 8; ++c)
        s += dot8(*(const uint4*)(tile + t * 128 + c * 16), qs + 8 * c);
    if (first + t < Nk) S[first + t] = s;  // excluded: rows past the last key
}
