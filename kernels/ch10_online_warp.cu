// P = softmax of each row of S, and LSE. A warp a row, 32 keys (a tile) at a
// time: one pass for m and l, a second one for P.
//
// grid:  ceil(rows / 4) blocks      block: 128 threads: one warp a row
// S:     float32 (rows, keys), read twice; finite scores
// P:     float32 (rows, keys), written
// LSE:   float32 (rows), written: log of the sum of exp(score)
// trace: null, or float32 (rows, ceil(keys / 32), 2): m and l of each row
//        after each tile
// keys:  any >= 1
#include <math_constants.h>

extern "C" __global__ void online_warp(const float* S, float* P, float* LSE,
                                       int rows, int keys, float* trace) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last row; a whole warp leaves together.
    if (row >= rows) return;
    S += (size_t)row * keys;             // now at my row's first score
    P += (size_t)row * keys;
    const int tiles = (keys + 31) / 32;

    float m = -CUDART_INF_F, l = 0.0f;   // all 32 lanes hold the same two
    for (int tile = 0; tile < tiles; ++tile) {
        const int j = tile * 32 + lane;
        // A key past the end counts as -infinity: exp makes it 0.
        const float s = j < keys ? S[j] : -CUDART_INF_F;

        // One new maximum for 32 keys, so one rescaling for 32 keys.
        float m_new = fmaxf(m, s);
        for (int w = 16; w > 0; w /= 2) {
            m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
        }
        float l_tile = expf(s - m_new);
        for (int w = 16; w > 0; w /= 2) {
            l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
        }
        l = l * expf(m - m_new) + l_tile;
        m = m_new;

        if (trace != nullptr && lane == 0) {
            trace[((size_t)row * tiles + tile) * 2] = m;
            trace[((size_t)row * tiles + tile) * 2 + 1] = l;
        }
    }

    // Now m and l are those of the whole row.
    for (int j = lane; j < keys; j += 32) P[j] = expf(S[j] - m) / l;
    if (lane == 0) LSE[row] = m + logf(l);
}
