// weight[j] = sum over all queries of P[i][j]: how much attention key j gets.
// A thread a key. P isn't stored; LSE of each query is.
//
// grid:  ceil(Nk / 32) blocks          block: 32 threads, one a key
// Q:     float32 (Nq, 64), read
// K:     float32 (Nk, 64), read
// LSE:   float32 (Nq), read: log of the sum of exp(score) of each query,
//        -infinity for a query that sees no key
// weight: float32 (Nk), written
// Causal: query i sees keys 0 .. i + Nk - Nq.
#include <math_constants.h>

extern "C" __global__ void key_weight(const float* Q, const float* K,
                                      const float* LSE, float* weight, int Nq,
                                      int Nk, float scale) {
    constexpr int d = 64;
    const int j = blockIdx.x * 32 + threadIdx.x;  // my key

    // Excluded: threads past the last key.
    if (j >= Nk) return;

    float sum = 0.0f;
    for (int i = 0; i < Nq; ++i) {
        const int last = i + Nk - Nq;             // query i sees keys 0 .. last
        if (j > last) continue;                   // not mine
        float s = 0.0f;                           // my score with query i
        for (int c = 0; c < d; ++c) s += Q[i * d + c] * K[j * d + c];
        // TODO (1 line): my weight for query i: one exponential is enough
        float m = -CUDART_INF_F, l = 0.0f;  // of all keys that i sees
        for (int k = 0; k <= last; ++k) {
            float t = 0.0f;
            for (int c = 0; c < d; ++c) t += Q[i * d + c] * K[k * d + c];
            const float m_new = fmaxf(m, scale * t);
            l = l * expf(m - m_new) + expf(scale * t - m_new);
            m = m_new;
        }
        sum += expf(scale * s - m) / l;
    }
    weight[j] = sum;
}
