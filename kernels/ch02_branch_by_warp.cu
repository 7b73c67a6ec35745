// The same two recipes, chosen by the warp: odd warps down, even warps up.
//
// grid:  n / 256 blocks      block: 256 threads
// y:     float32 (n), written
// steps: how long each recipe is
// n is grid * 256, so no guard is needed here.
extern "C" __global__ void branch_by_warp(float* y, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = threadIdx.x / 32;  // 0 .. 7
    float v = 1.0f;

    // All 32 lanes of a warp agree: each warp walks one way only.
    if (warp % 2 == 1) {
        for (int k = 0; k < steps; ++k) v = v * 0.5f;
    } else {
        for (int k = 0; k < steps; ++k) v = v + 0.5f;
    }
    y[i] = v;
}
