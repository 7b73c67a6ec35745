// O[row] = the mean of the values v, weighted by the softmax of the row's
// scores, in one pass: no weight is ever stored.
//
// grid:  ceil(rows / 64) blocks      block: 64 threads: one a row
// S:     float32 (keys, rows), read once: neighbouring rows are neighbours
// v:     float32 (keys), read
// O:     float32 (rows), written
// trace: null, or float32 (rows, keys, 3): m, l, acc after each key
// keys:  any >= 1; scores: any finite numbers
// This kernel is broken: some rows come out right.
#include <math_constants.h>

extern "C" __global__ void fading_mean(const float* S, const float* v,
                                       float* O, int rows, int keys,
                                       float* trace) {
    const int row = blockIdx.x * 64 + threadIdx.x;

    // Excluded: threads past the last row.
    if (row >= rows) return;

    float m = -CUDART_INF_F;    // the largest score so far
    float l = 0.0f;             // the sum of exp(score - m) so far
    float acc = 0.0f;           // the sum of exp(score - m) * value so far
    for (int j = 0; j < keys; ++j) {
        const float s = S[(size_t)j * rows + row];
        const float m_new = fmaxf(m, s);
        const float p = expf(s - m_new);
        // TODO (3 lines): repair this part: what do l and acc hold after key j?
        const float fade = j == 0 ? 0.0f : expf(m_new - m);
        l = l * fade + p;
        acc = acc * fade + p * v[j];
        m = m_new;

        if (trace != nullptr) {
            float* told = trace + ((size_t)row * keys + j) * 3;
            told[0] = m;
            told[1] = l;
            told[2] = acc;
        }
    }
    O[row] = acc / l;
}
