// For each row of x: its largest number m, and l = the sum of exp(x - m).
// All 256 threads need m before any of them can start on l.
//
// grid:  one block a row      block: 256 threads = 8 warps
// x:     float32 (rows, cols), read; any finite numbers
// m:     float32 (rows), written
// l:     float32 (rows), written
// cols:  any >= 1; fewer than threads, or more
#include <math_constants.h>  // CUDART_INF_F

extern "C" __global__ void block_max(const float* x, float* m, float* l,
                                     int cols) {
    __shared__ float s[8];                      // one place a warp
    const int t = threadIdx.x;                  // 0 .. 255
    const int lane = t % 32, warp = t / 32;     // 0 .. 31, 0 .. 7
    const float* row = x + blockIdx.x * cols;   // my block's row

    float top = -CUDART_INF_F;                  // less than any number
    for (int c = t; c < cols; c += 256) {
        top = fmaxf(top, row[c]);
    }
    for (int step = 16; step > 0; step /= 2) {
        top = fmaxf(top, __shfl_down_sync(0xffffffffu, top, step));
    }
    if (lane == 0) {
        s[warp] = top;
    }
    // s[] holds the maxima of the 8 warps
    for (int w = 0; w < 8; ++w) {
        top = fmaxf(top, s[w]);
    }

    float sum = 0.0f;
    for (int c = t; c < cols; c += 256) {
        sum += expf(row[c] - top);
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    }
    __syncthreads();  // all threads have read the maxima: s[] is free
    if (lane == 0) {
        s[warp] = sum;
    }
    __syncthreads();  // s[] holds the sums of the 8 warps

    if (t == 0) {
        float total = 0.0f;
        for (int w = 0; w < 8; ++w) {
            total += s[w];
        }
        m[blockIdx.x] = top;
        l[blockIdx.x] = total;
    }
}
