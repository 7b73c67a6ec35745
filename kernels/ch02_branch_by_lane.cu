// Two recipes, chosen by the lane: odd lanes walk down, even lanes walk up.
//
// grid:  n / 256 blocks      block: 256 threads
// y:     float32 (n), written
// steps: how long each recipe is
// n is grid * 256, so no guard is needed here.
extern "C" __global__ void branch_by_lane(float* y, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;  // 0 .. 31
    float v = 1.0f;

    // Every warp holds odd and even lanes: every warp walks both ways.
    if (lane % 2 == 1) {
        for (int k = 0; k < steps; ++k) v = v * 0.5f;
    } else {
        for (int k = 0; k < steps; ++k) v = v + 0.5f;
    }
    y[i] = v;  // the lanes have met again
}
