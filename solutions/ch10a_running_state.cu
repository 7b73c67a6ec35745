// The log of the sum of exp(score) for each row, reading each score once.
// One thread a row; after each key it can say m and l of the keys so far.
//
// grid:  ceil(rows / 64) blocks      block: 64 threads
// S:     float32 (keys, rows), read: neighbouring rows are neighbours
// LSE:   float32 (rows), written
// trace: null, or float32 (rows, keys, 2): m and l after each key (given)
// keys:  any >= 1; scores: any finite numbers, also far below zero
#include <math_constants.h>  // CUDART_INF_F

extern "C" __global__ void running_state(const float* S, float* LSE, int rows,
                                         int keys, float* trace) {
    const int row = blockIdx.x * 64 + threadIdx.x;

    // Excluded: threads past the last row.
    if (row >= rows) return;

    //@solution the state of a row without keys: its maximum and its sum
    float m = -CUDART_INF_F;
    float l = 0.0f;
    //@stub
    //@ float m = 0.0f;
    //@ float l = 0.0f;
    //@end
    for (int j = 0; j < keys; ++j) {
        const float s = S[(size_t)j * rows + row];
        //@solution let key j, with score s, join the state
        const float m_new = fmaxf(m, s);
        l = l * expf(m - m_new) + expf(s - m_new);
        m = m_new;
        //@stub
        //@ l += expf(s);
        //@end

        if (trace != nullptr) {
            trace[((size_t)row * keys + j) * 2] = m;
            trace[((size_t)row * keys + j) * 2 + 1] = l;
        }
    }
    LSE[row] = m + logf(l);
}
