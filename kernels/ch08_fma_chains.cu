// A thread multiplies and adds `steps` times in each of `chains` chains. Within
// a chain each result waits for the one before; the chains are independent.
//
// grid:  any            block: any
// y:     float32 (gridDim.x * blockDim.x), written: the sum of the chains
// steps: multiply-adds in a chain
constexpr int chains = 1;

extern "C" __global__ void fma_chains(float* y, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[chains];
    for (int c = 0; c < chains; ++c) {
        v[c] = c + i % 7;               // a start that no compiler foresees
    }
    for (int s = 0; s < steps; ++s) {
        for (int c = 0; c < chains; ++c) {
            v[c] = v[c] * 0.5f + 1.0f;  // goes to 2; needs its own v[c] only
        }
    }
    float sum = 0.0f;
    for (int c = 0; c < chains; ++c) {
        sum += v[c];
    }
    y[i] = sum;
}
