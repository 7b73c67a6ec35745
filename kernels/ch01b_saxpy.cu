// y = alpha * x + y, in place ("saxpy": single precision a times x plus y).
//
// grid:  ceil(n / 128) blocks      block: 128 threads
// alpha: the factor
// x:     float32 (n), read
// y:     float32 (n), read and written
// n:     number of elements, any n >= 1
// This kernel is broken: find out what it touches, then repair it.
extern "C" __global__ void saxpy(float alpha, const float* x, float* y,
                                 int n) {
    // My number among all threads: 0 .. grid * 128 - 1.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // TODO (3 lines): let only the threads that own an element work
    // The guard looks right. Count: which i are the last ones let in?
    if (i <= n) {
        y[i] = alpha * x[i] + y[i];
    }
}
