// y = c[0] + c[1] x + c[2] x^2 + c[3] x^3, with c in constant memory.
//
// grid:  ceil(n / 256) blocks      block: 256 threads
// x:     float32 (n), read
// y:     float32 (n), written
// n:     any n >= 1
__constant__ float c[4] = {1.0f, -0.5f, 0.25f, -0.125f};

extern "C" __global__ void poly_constant(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Excluded: threads past the end.
    if (i < n) {
        const float v = x[i];
        // One word for all lanes: that is what constant memory is for.
        y[i] = ((c[3] * v + c[2]) * v + c[1]) * v + c[0];
    }
}
