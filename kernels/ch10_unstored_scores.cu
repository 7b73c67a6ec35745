// LSE of each query's scores, scale * q . k, which are nowhere stored: what
// isn't stored is computed again in each pass over the keys.
//
// grid:   ceil(Nq / 64) blocks      block: 64 threads: one a query
// Q:      float32 (d, Nq), read      K: float32 (Nk, d), read
// LSE:    float32 (Nq), written
// passes: 2: first the maximum, then the sum; 1: both at once, online
#include <math_constants.h>

constexpr int d = 64;

// scale * q . k for query `row` and one key; the lanes share the key.
__device__ float score(const float* Q, const float* k, int row, int Nq,
                       float scale) {
    float dot = 0.0f;
    for (int c = 0; c < d; ++c) dot += Q[(size_t)c * Nq + row] * k[c];
    return scale * dot;
}

extern "C" __global__ void unstored_scores(const float* Q, const float* K,
                                           float* LSE, int Nq, int Nk,
                                           float scale, int passes) {
    const int row = blockIdx.x * 64 + threadIdx.x;

    // Excluded: threads past the last query.
    if (row >= Nq) return;

    float m = -CUDART_INF_F, l = 0.0f;
    if (passes == 2) {
        for (int j = 0; j < Nk; ++j) {
            m = fmaxf(m, score(Q, K + (size_t)j * d, row, Nq, scale));
        }
        // Every score once more: nobody kept it.
        for (int j = 0; j < Nk; ++j) {
            l += expf(score(Q, K + (size_t)j * d, row, Nq, scale) - m);
        }
    } else {
        for (int j = 0; j < Nk; ++j) {
            const float s = score(Q, K + (size_t)j * d, row, Nq, scale);
            const float m_new = fmaxf(m, s);
            l = l * expf(m - m_new) + expf(s - m_new);
            m = m_new;
        }
    }
    LSE[row] = m + logf(l);
}
