// y = x * x for n elements, with fewer threads than elements.
//
// grid:  n / 256 blocks, rounded down, at least 1      block: 256 threads
// x:     float32 (n), read
// y:     float32 (n), written
// n:     number of elements, any n >= 1
// With n = 1000 there are 3 * 256 = 768 threads: some must work twice.
extern "C" __global__ void grid_stride(const float* x, float* y, int n) {
    // My number among all threads: 0 .. all - 1.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // How many threads the whole grid has: the stride of my walk.
    const int all = gridDim.x * blockDim.x;

    // Neighbouring threads keep visiting neighbouring elements.
    for (int k = i; k < n; k += all) {
        y[k] = x[k] * x[k];
    }
}
