// y[i] = 2 x[i], one thread an element.
//
// grid:  ceil(n / 128) blocks      block: 128 threads
// x:     float32 (n), read
// y:     float32 (n), written
extern "C" __global__ void double_all(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;   // my element, or past n
    if (i < n) {                        // excluded: threads past the end
        y[i] = 2.0f * x[i];
    }
}
