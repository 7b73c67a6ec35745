// y = x, and each thread copies `per` elements that lie side by side.
//
// grid, block: grid * block * per = all elements
// x:   float32, read
// y:   float32, written
// per: elements a thread copies
extern "C" __global__ void chunk_copy(const float* x, float* y, int per) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = thread * per;     // my chunk: first .. first + per - 1

    for (int k = 0; k < per; ++k) {
        y[first + k] = x[first + k];
    }
}
