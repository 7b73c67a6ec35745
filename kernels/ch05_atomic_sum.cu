// total += x[0] + ... + x[n - 1]; every thread adds its own element.
//
// grid:  ceil(n / 256) blocks      block: 256 threads
// x:     float32 (n), read
// total: float32 (1), read and written: the sum is added to what it holds
// n:     any n >= 1
extern "C" __global__ void atomic_sum(const float* x, float* total, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Excluded: threads past the end, which have nothing to add.
    if (i < n) {
        // Read, add, write back: nobody else comes in between.
        atomicAdd(total, x[i]);
    }
}
