// y = every `stride`-th element of x.
//
// grid:   ceil(n / 256) blocks      block: 256 threads
// x:      float32 ((n - 1) * stride + 1, or more), read
// y:      float32 (n), written
// n:      any n >= 1
// stride: 1 or more
extern "C" __global__ void strided_copy(const float* x, float* y, int n,
                                        int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Excluded: threads past the end of y.
    if (i < n) {
        // Neighbouring lanes read `stride` elements apart.
        y[i] = x[i * stride];
    }
}
