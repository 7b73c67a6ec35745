// c = a + b, one thread an element, with nothing to stop a thread too many.
//
// grid:  as many blocks as the caller likes      block: 256 threads
// a, b:  float32 (n), read
// c:     float32 (n), written
// n:     not looked at: that is what the chapter is about
extern "C" __global__ void add_unguarded(const float* a, const float* b,
                                         float* c, int n) {
    // Threads before my block, plus my place in it: 0 .. grid * block - 1.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    c[i] = a[i] + b[i];
}
