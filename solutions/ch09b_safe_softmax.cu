// P = softmax of each row of S: exp(s) / the sum of those. A warp a row.
//
// grid:  ceil(rows / 4) blocks      block: 128 threads: one warp a row
// S:     float32 (rows, keys), read; any finite numbers
// P:     float32 (rows, keys), written
// keys:  any >= 1
// This kernel is broken: small scores come out right.
#include <math_constants.h>  // CUDART_INF_F

extern "C" __global__ void safe_softmax(const float* S, float* P, int rows,
                                        int keys) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last row; a whole warp leaves together.
    if (row >= rows) return;
    S += (size_t)row * keys;             // now at my row's first score
    P += (size_t)row * keys;

    //@solution repair the softmax: what does a common factor of all exp change?
    float m = -CUDART_INF_F;
    for (int j = lane; j < keys; j += 32) m = fmaxf(m, S[j]);
    for (int w = 16; w > 0; w /= 2) {
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));
    }
    float l = 0.0f;
    for (int j = lane; j < keys; j += 32) l += expf(S[j] - m);
    for (int w = 16; w > 0; w /= 2) {
        l += __shfl_xor_sync(0xffffffffu, l, w);
    }
    for (int j = lane; j < keys; j += 32) P[j] = expf(S[j] - m) / l;
    //@stub
    //@ float l = 0.0f;
    //@ for (int j = lane; j < keys; j += 32) l += expf(S[j]);
    //@ for (int w = 16; w > 0; w /= 2) {
    //@     l += __shfl_xor_sync(0xffffffffu, l, w);
    //@ }
    //@ for (int j = lane; j < keys; j += 32) P[j] = expf(S[j]) / l;
    //@end
}
