// Work to time: each thread makes `steps` multiply-adds on its own number.
//
// grid:  n / 128 blocks      block: 128 threads
// y:     float32 (n), written; n a multiple of 128
// steps: multiply-adds of a thread
extern "C" __global__ void busy(float* y, int steps) {
    const int i = blockIdx.x * 128 + threadIdx.x;   // my element
    float v = i % 5;                    // a start that no compiler foresees
    for (int s = 0; s < steps; ++s) {
        v = v * 0.5f + 1.0f;            // goes to 2
    }
    y[i] = v;
}
