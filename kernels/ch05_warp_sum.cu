// part[block] = the sum of the block's 256 elements of x: inside each warp by
// shuffles, then the 8 sums of the warps by shuffles of the first warp.
//
// grid:  ceil(n / 256) blocks      block: 256 threads = 8 warps
// x:     float32 (n), read
// part:  float32 (grid), written: one sum a block
// n:     any n >= 1; what is missing in the last block counts as 0
extern "C" __global__ void warp_sum(const float* x, float* part, int n) {
    __shared__ float s[8];                      // one place a warp
    const int t = threadIdx.x;                  // 0 .. 255
    const int lane = t % 32, warp = t / 32;     // 0 .. 31, 0 .. 7
    const int i = blockIdx.x * 256 + t;         // my element, or past the end

    float v = i < n ? x[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2) {
        // All 32 lanes take part; lane 0's v becomes the sum of its warp.
        v += __shfl_down_sync(0xffffffffu, v, step);
    }
    if (lane == 0) {
        s[warp] = v;
    }
    __syncthreads();  // all 8 sums are in s[]

    // Excluded: warps 1 .. 7. The whole first warp goes on.
    if (warp == 0) {
        v = lane < 8 ? s[lane] : 0.0f;
        for (int step = 4; step > 0; step /= 2) {
            v += __shfl_down_sync(0xffffffffu, v, step);
        }
        if (lane == 0) {
            part[blockIdx.x] = v;
        }
    }
}
