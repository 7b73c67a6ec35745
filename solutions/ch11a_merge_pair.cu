// Two halves of a softmax become one: m, l and o of all keys, from those of
// the keys of half a and of half b. Either half may be empty, or both.
//
// grid:  rows      block: 32 threads: one a column of o
// ma, la, mb, lb: float32 (rows), read
// oa, ob:         float32 (rows, 32), read: each half's weighted mean
// m, l:           float32 (rows), written
// o:              float32 (rows, 32), written
// A half without keys has m = -infinity, l = 0, o = 0; so has the result if
// both are empty.
#include <math_constants.h>

extern "C" __global__ void merge_pair(const float* ma, const float* la,
                                      const float* oa, const float* mb,
                                      const float* lb, const float* ob,
                                      float* m, float* l, float* o) {
    const int row = blockIdx.x, lane = threadIdx.x;
    const int i = row * 32 + lane;              // my element of o

    const float m_new = fmaxf(ma[row], mb[row]);
    //@solution how much each half weighs, measured against m_new
    float wa = 0.0f, wb = 0.0f;                 // an empty half weighs nothing
    if (la[row] > 0.0f) wa = la[row] * expf(ma[row] - m_new);
    if (lb[row] > 0.0f) wb = lb[row] * expf(mb[row] - m_new);
    //@stub
    //@ const float wa = la[row], wb = lb[row];
    //@end
    const float l_new = wa + wb;
    //@solution the mean of all keys, from the means of the halves
    const float o_new = l_new > 0.0f ? (wa * oa[i] + wb * ob[i]) / l_new : 0.0f;
    //@stub
    //@ const float o_new = (oa[i] + ob[i]) / 2;
    //@end

    o[i] = o_new;
    // Excluded: all lanes but one; m and l are one number a row.
    if (lane == 0) {
        m[row] = m_new;
        l[row] = l_new;
    }
}
