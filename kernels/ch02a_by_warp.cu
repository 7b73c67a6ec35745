// Two recipes: even elements get the square root, odd ones the reciprocal,
// each by Newton's steps. Same result, but no warp may run both recipes.
//
// grid:  ceil(n / 256) blocks      block: 256 threads = 8 warps
// x:     float32 (n), read, all x > 0, about 1
// y:     float32 (n), written: sqrt(x) at even places, 1 / x at odd places
// n:     any n >= 1
extern "C" __global__ void by_warp(const float* x, float* y, int n) {
    const int t = threadIdx.x;              // 0 .. 255
    const int first = blockIdx.x * 256;     // my block's first element

    // TODO (2 lines): warps 0-3 take the even elements, warps 4-7 the odd ones
    // One element a thread, in order: neighbours disagree.
    const bool odd = t % 2 == 1;
    const int i = first + t;

    // Excluded: threads whose element is past the end.
    if (i < n) {
        const float a = x[i];
        float v = 1.0f;
        if (odd) {
            for (int k = 0; k < 8; ++k) v = v * (2.0f - a * v);
        } else {
            for (int k = 0; k < 8; ++k) v = 0.5f * (v + a / v);
        }
        y[i] = v;
    }
}
