// y = c[0] + c[1] x + c[2] x^2 + c[3] x^3, with c in global memory.
//
// grid:  ceil(n / 256) blocks      block: 256 threads
// c:     float32 (4), read
// x:     float32 (n), read
// y:     float32 (n), written
// n:     any n >= 1
extern "C" __global__ void poly_global(const float* c, const float* x,
                                       float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Excluded: threads past the end.
    if (i < n) {
        const float v = x[i];
        // All lanes want the same c[k] at the same time.
        y[i] = ((c[3] * v + c[2]) * v + c[1]) * v + c[0];
    }
}
