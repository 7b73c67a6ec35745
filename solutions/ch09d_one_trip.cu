// O = softmax(S) V in one launch: the weights P live in shared memory and are
// never written to global memory. A block has one query.
//
// grid:   (Nq, heads)      block: 64 threads: one a column of V
// shared: Nk floats, given at the launch: the query's scores, then weights
// S:      float32 (heads, Nq, Nk), read once
// V:      float32 (heads, Nk, 64), read
// O:      float32 (heads, Nq, 64), written
// Nk:     1 .. 12288: a row has to fit into 48 KB
#include <math_constants.h>

extern "C" __global__ void one_trip(const float* S, const float* V, float* O,
                                    int Nq, int Nk) {
    extern __shared__ float p[];                // Nk of them
    const int t = threadIdx.x;                  // 0 .. 63, my column
    const size_t row = (size_t)blockIdx.y * Nq + blockIdx.x;
    S += row * Nk;                              // now at my query's scores
    V += (size_t)blockIdx.y * Nk * 64 + t;      // my column, first key

    for (int j = t; j < Nk; j += 64) p[j] = S[j];
    __syncthreads();  // p[] holds the scores of all keys

    float m = -CUDART_INF_F;                    // every thread looks at all
    for (int j = 0; j < Nk; ++j) m = fmaxf(m, p[j]);
    //@solution turn the scores in p[] into exp(score - m)
    __syncthreads();  // all threads have their m: p[] may change
    for (int j = t; j < Nk; j += 64) p[j] = expf(p[j] - m);
    __syncthreads();  // p[] holds a weight for each key
    //@stub
    //@ for (int j = t; j < Nk; j += 64) p[j] = expf(p[j] - m);
    //@end

    float l = 0.0f, acc = 0.0f;
    for (int j = 0; j < Nk; ++j) {
        //@solution key j joins the sum of the weights, and my column
        l += p[j];
        acc += p[j] * V[(size_t)j * 64];
        //@stub
        //@ l += 1.0f;
        //@ acc += p[j] * V[(size_t)j * 64];
        //@end
    }
    O[row * 64 + t] = acc / l;
}
