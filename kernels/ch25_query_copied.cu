// S[j] = K[j] . q: the threads bring each tile of 64 keys to shared memory.
//
// grid:  ceil(Nk / 64) blocks     block: 64 threads: one for each key
// K:     fp16 (Nk, 64), read      q: float32 (64), read
// S:     float32 (Nk), written
// Nk:    any >= 1
#include <cuda_fp16.h>

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

extern "C" __global__ void query_copied(const __half* K, const float* q,
                                        float* S, int Nk) {
    __shared__ __align__(128) unsigned char tile[64 * 128];  // rows of K
    __shared__ float qs[64];
    const int t = threadIdx.x;          // my key of the tile, my row
    const int first = blockIdx.x * 64;  // the tile's first key

    qs[t] = q[t];
    for (int p = t; p < 64 * 8; p += 64) {  // 8 chunks of 16 bytes a row
        const bool real = first + p / 8 < Nk;
        ((uint4*)tile)[p] = real ? ((const uint4*)K)[first * 8 + p] : uint4();
    }
    __syncthreads();  // qs and the tile are filled

    float s = 0;
    for (int c = 0; c < 8; ++c)
        s += dot8(*(const uint4*)(tile + t * 128 + c * 16), qs + 8 * c);
    if (first + t < Nk) S[first + t] = s;  // excluded: rows past the last key
}
