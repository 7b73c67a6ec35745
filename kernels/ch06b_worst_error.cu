// worst[0] = the largest |got - want|, or infinity where got or want is NaN
// or an infinity that the other one isn't.
//
// grid:   1 block      block: 256 threads
// shared: 256 floats
// got:    float32 (n), read
// want:   float32 (n), read
// worst:  float32 (1), written
// n >= 1
// This kernel is broken: it praises a result that is full of NaN.
extern "C" __global__ void worst_error(const float* got, const float* want,
                                       float* worst, int n) {
    __shared__ float most[256];
    const int t = threadIdx.x;          // 0 .. 255

    float mine = 0.0f;                  // the worst of my elements
    for (int i = t; i < n; i += 256) {
        // TODO (6 lines): repair this part: fmaxf(x, NaN) is x
        mine = fmaxf(mine, fabsf(got[i] - want[i]));
    }
    most[t] = mine;
    __syncthreads();  // every most[] is filled

    // 256 maxima, then 128, .. then one.
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) {
            most[t] = fmaxf(most[t], most[t + half]);
        }
        __syncthreads();  // most[0 .. half - 1] holds the maxima so far
    }
    if (t == 0) {
        worst[0] = most[0];
    }
}
