// c = a + b, one thread an element.
//
// grid:  ceil(n / 256) blocks      block: 256 threads
// a, b:  float32 (n), read
// c:     float32 (n), written
// n:     number of elements, any n >= 0
// The last block may have more threads than there are elements left.
extern "C" __global__ void vector_add(const float* a, const float* b,
                                      float* c, int n) {
    // Threads before my block, plus my place in it: 0 .. grid * block - 1.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Excluded: the threads of the last block that stand past the end.
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
