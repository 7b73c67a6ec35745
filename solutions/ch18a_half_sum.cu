// out[r] = the dot product of row r of x and row r of y, inputs in fp16.
// The sum has too few bits for its numbers.
//
// grid:  rows blocks      block: 32 threads: a warp for a row
// x, y:  fp16 (rows, n), read
// out:   float32 (rows), written: as good as float32 allows
// n:     any >= 1
#include <cuda_fp16.h>

extern "C" __global__ void half_sum(const __half* x, const __half* y,
                                    float* out, int n) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += (size_t)row * n;  // x, y: now at the row's first number
    y += (size_t)row * n;

    //@solution a sum that keeps what the products bring
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32) {
        sum = fmaf(__half2float(x[i]), __half2float(y[i]), sum);
    }
    for (int w = 16; w > 0; w /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, w);
    }
    if (lane == 0) out[row] = sum;
    //@stub
    //@ __half sum = __float2half(0.0f);
    //@ for (int i = lane; i < n; i += 32) sum = __hfma(x[i], y[i], sum);
    //@ for (int w = 16; w > 0; w /= 2) {
    //@     sum = __hadd(sum, __shfl_xor_sync(0xffffffffu, sum, w));
    //@ }
    //@ if (lane == 0) out[row] = __half2float(sum);
    //@end
}
