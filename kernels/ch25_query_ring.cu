// S[j] = K[j] . q: each block walks over many tiles, two more on their way.
//
// grid:  any; block b takes tiles b, b + grid, ..     block: 64 threads
// Km:    tensor map of fp16 (Nk, 64), read, boxes (64, 64), swizzle 128B
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

extern "C" __global__ void query_ring(
    const __grid_constant__ ptx::TensorMap Km, const float* q, float* S,
    int Nk) {
    constexpr int stages = 3;
    constexpr unsigned bytes = 64 * 128;  // of a box
    __shared__ __align__(1024) unsigned char ring[stages][bytes];
    __shared__ __align__(8) unsigned long long bars[2 * stages];
    __shared__ float qs[64];
    const int t = threadIdx.x;  // my row of each tile
    const int tiles = (Nk + 63) / 64;
    const int blocks = gridDim.x;
    const int mine = (tiles + blocks - 1 - (int)blockIdx.x) / blocks;
    // Of stage s: full + 8 s is bars[s], empty + 8 s is bars[stages + s].
    const unsigned full = ptx::shared_address(bars), empty = full + 8 * stages;

    // My n-th tile, asked for by thread 0.
    auto load = [&](int n) {
        const int s = n % stages, round = n / stages;
        // All have read what the stage held in the round before.
        if (round > 0) ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);
        ptx::mbarrier_arrive_expect_tx(full + 8 * s, bytes);
        ptx::tma_load_2d(ptx::shared_address(ring[s]), &Km, full + 8 * s, 0,
                         (blockIdx.x + n * blocks) * 64);
    };

    qs[t] = q[t];
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);    // thread 0, and bytes
            ptx::mbarrier_init(empty + 8 * s, 64);  // every reader
        }
        ptx::fence_mbarrier_init();
        for (int n = 0; n < stages - 1 && n < mine; ++n) load(n);
    }
    __syncthreads();  // qs is filled, the barriers are there for all

    for (int n = 0; n < mine; ++n) {
        if (t == 0 && n + stages - 1 < mine) load(n + stages - 1);
        const int s = n % stages, round = n / stages;
        ptx::mbarrier_wait_parity(full + 8 * s, round & 1);

        float sum = 0;
        for (int c = 0; c < 8; ++c)  // chunk c of row t lies at c ^ t % 8
            sum += dot8(*(const uint4*)(ring[s] + t * 128 + (c ^ t % 8) * 16),
                        qs + 8 * c);
        ptx::mbarrier_arrive(empty + 8 * s);  // I have read it

        const int key = (blockIdx.x + n * blocks) * 64 + t;
        if (key < Nk) S[key] = sum;  // excluded: rows past the last key
    }
}
