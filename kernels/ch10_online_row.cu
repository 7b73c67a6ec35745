// The log of the sum of exp(score) for each row, in one pass: a running
// maximum m, and a running sum l of exp(score - m). One thread a row.
//
// grid:  ceil(rows / 64) blocks      block: 64 threads
// S:     float32 (rows, keys), read once; finite scores
// LSE:   float32 (rows), written: m + log(l)
// trace: null, or float32 (rows, keys, 2): m and l of each row after each
//        key, for a checker to look at
// keys:  any >= 1
#include <math_constants.h>  // CUDART_INF_F

extern "C" __global__ void online_row(const float* S, float* LSE, int rows,
                                      int keys, float* trace) {
    const int row = blockIdx.x * 64 + threadIdx.x;

    // Excluded: threads past the last row.
    if (row >= rows) return;
    S += (size_t)row * keys;             // now at my row's first score

    float m = -CUDART_INF_F;             // the largest of no scores
    float l = 0.0f;                      // the sum of no terms
    for (int j = 0; j < keys; ++j) {
        const float m_new = fmaxf(m, S[j]);
        // l was measured against m. Against m_new each of its terms is
        // smaller by one and the same factor; for the first key it is 0.
        l = l * expf(m - m_new) + expf(S[j] - m_new);
        m = m_new;

        // l is now the sum of exp(score - m) over keys 0 .. j.
        if (trace != nullptr) {
            trace[((size_t)row * keys + j) * 2] = m;
            trace[((size_t)row * keys + j) * 2 + 1] = l;
        }
    }
    LSE[row] = m + logf(l);
}
