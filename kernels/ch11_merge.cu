// O and LSE of each row from the states of its parts: any number of parts,
// each with its own m, l and o. A warp a row.
//
// grid:  rows      block: 32 threads: one a column
// m, l:  float32 (rows, parts), read
// o:     float32 (rows, parts, 32), read: each part's weighted mean
// O:     float32 (rows, 32), written: that of all keys; 0 if there is none
// LSE:   float32 (rows), written; -infinity if there is no key
// trace: null, or float32 (rows, parts, 2): m and l after each part
// A part without keys has m = -infinity, l = 0, o = 0.
#include <math_constants.h>

extern "C" __global__ void merge(const float* m, const float* l, const float* o,
                                 float* O, float* LSE, int parts,
                                 float* trace) {
    const int lane = threadIdx.x;
    const size_t row = blockIdx.x;
    m += row * parts;           // now at my row's first part
    l += row * parts;
    o += row * parts * 32;

    float top = -CUDART_INF_F, sum = 0.0f, acc = 0.0f;
    for (int k = 0; k < parts; ++k) {
        const float top_new = fmaxf(top, m[k]);
        // No key so far: -inf - -inf would be NaN. All lanes agree on that.
        if (top_new > -CUDART_INF_F) {
            const float fade = expf(top - top_new);         // of what I have
            const float weight = l[k] * expf(m[k] - top_new);  // of part k
            sum = sum * fade + weight;
            acc = acc * fade + weight * o[k * 32 + lane];
            top = top_new;
        }

        if (trace != nullptr && lane == 0) {
            trace[(row * parts + k) * 2] = top;
            trace[(row * parts + k) * 2 + 1] = sum;
        }
    }
    O[row * 32 + lane] = sum > 0.0f ? acc / sum : 0.0f;
    if (lane == 0) LSE[row] = top + logf(sum);
}
