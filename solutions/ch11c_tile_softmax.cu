// O = softmax(scale * Q K^T) V, a tile of 16 keys at a time, one thread a
// query. The way of an article: softmax of each tile, results added up.
//
// grid:   ceil(Nq / 32)      block: 32 threads: one a query
// shared: the tile's 16 keys and 16 values
// Q:      float32 (Nq, 8), read      K, V: float32 (Nk, 8), read
// O:      float32 (Nq, 8), written
// trace:  null, or float32 (Nq, ceil(Nk / 16), 3): m, l and acc[0] after each
//         tile
// Nk:     any >= 1
// This kernel is broken: with up to 16 keys it is right.
#include <math_constants.h>

extern "C" __global__ void tile_softmax(const float* Q, const float* K,
                                        const float* V, float* O, int Nq,
                                        int Nk, float scale, float* trace) {
    constexpr int d = 8, Bc = 16;
    __shared__ float Ks[Bc][d], Vs[Bc][d];
    const int t = threadIdx.x;                  // 0 .. 31
    const int row = blockIdx.x * 32 + t;        // my query, or past the end
    const int tiles = (Nk + Bc - 1) / Bc;

    float q[d], acc[d] = {};
    for (int c = 0; c < d; ++c) q[c] = row < Nq ? Q[row * d + c] : 0.0f;

    float m = -CUDART_INF_F, l = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
        const int first = tile * Bc;
        const int left = min(Bc, Nk - first);   // the last tile may be short
        for (int k = t; k < left * d; k += 32) {
            Ks[k / d][k % d] = K[first * d + k];
            Vs[k / d][k % d] = V[first * d + k];
        }
        __syncthreads();  // the tile's keys and values are in place

        float s[Bc], top = -CUDART_INF_F;       // my scores, their maximum
        for (int b = 0; b < Bc; ++b) {
            s[b] = 0.0f;
            for (int c = 0; c < d && b < left; ++c) s[b] += q[c] * Ks[b][c];
            s[b] = b < left ? scale * s[b] : -CUDART_INF_F;
            top = fmaxf(top, s[b]);
        }

        //@solution repair this part: the tile joins the tiles before it
        const float m_new = fmaxf(m, top), fade = expf(m - m_new);
        l *= fade;
        for (int c = 0; c < d; ++c) acc[c] *= fade;
        for (int b = 0; b < left; ++b) {
            const float p = expf(s[b] - m_new);
            l += p;
            for (int c = 0; c < d; ++c) acc[c] += p * Vs[b][c];
        }
        m = m_new;
        //@stub
        //@ m = top;
        //@ l = 0.0f;
        //@ for (int b = 0; b < left; ++b) l += expf(s[b] - m);
        //@ for (int b = 0; b < left; ++b) {
        //@     const float p = expf(s[b] - m) / (l + 1e-6f);
        //@     for (int c = 0; c < d; ++c) acc[c] += p * Vs[b][c];
        //@ }
        //@end

        if (trace != nullptr && row < Nq) {
            float* told = trace + (row * tiles + tile) * 3;
            told[0] = m;
            told[1] = l;
            told[2] = acc[0];
        }
        __syncthreads();  // all are done with Ks and Vs: refill them
    }

    // Excluded: threads past the last query, which worked on zeros.
    if (row < Nq) {
        //@solution what is left to do after the last tile?
        for (int c = 0; c < d; ++c) O[row * d + c] = acc[c] / l;
        //@stub
        //@ for (int c = 0; c < d; ++c) O[row * d + c] = acc[c];
        //@end
    }
}
