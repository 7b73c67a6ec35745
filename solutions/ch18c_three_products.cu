// out[r] = the dot product of row r of x and row r of y, as good as float32,
// from products that see only 11 bits of their factors.
//
// grid:  rows blocks      block: 32 threads: a warp for a row
// x, y:  float32 (rows, n), read
// out:   float32 (rows), written
// n:     any >= 1; every product goes through tf32_fma, as on a tensor core

// sum + a b, of which the last 13 bits of a and of b aren't read.
__device__ float tf32_fma(float a, float b, float sum);
// x, rounded to what tf32_fma reads.
__device__ float tf32(float x);

extern "C" __global__ void three_products(const float* x, const float* y,
                                          float* out, int n) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += (size_t)row * n;  // x, y: now at the row's first number
    y += (size_t)row * n;
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32) {
        //@solution x y from products of large and small parts
        const float a = tf32(x[i]), b = tf32(y[i]);
        // What the rounding left over is exact, and has 13 bits at most.
        const float a_rest = tf32(x[i] - a), b_rest = tf32(y[i] - b);
        sum = tf32_fma(a_rest, b, sum);
        sum = tf32_fma(a, b_rest, sum);
        sum = tf32_fma(a, b, sum);
        //@stub
        //@ sum = tf32_fma(x[i], y[i], sum);
        //@end
    }
    for (int w = 16; w > 0; w /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, w);
    }
    if (lane == 0) out[row] = sum;
}

__device__ float tf32_fma(float a, float b, float sum) {
    return fmaf(__uint_as_float(__float_as_uint(a) & 0xffffe000),
                __uint_as_float(__float_as_uint(b) & 0xffffe000), sum);
}

__device__ float tf32(float x) {
    return __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000);
}
