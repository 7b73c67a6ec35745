// Attention as one often finds it printed: one thread a query, keys and
// values in tiles. Five things are wrong in it; the verdict names one a time.
//
// grid:  ceil(Nq / 32) blocks      block: 32 threads, one query each
// Q:     float32 (Nq, 16), read    K, V: float32 (Nk, 16), read
// O:     float32 (Nq, 16), written
// trace: null, or float32 (Nq, ceil(Nk / 8), 2): m and l after each key tile
// scale: for the scores            Nq, Nk: any >= 1
#include <math_constants.h>

extern "C" __global__ void partial_load(const float* Q, const float* K,
                                        const float* V, float* O, int Nq,
                                        int Nk, float scale, float* trace) {
    constexpr int d = 16, Br = 32, Bc = 8;
    __shared__ float Qs[Br * d], Ks[Bc * d], Vs[Bc * d];
    __shared__ float S[Br][Bc + 1];
    const int t = threadIdx.x;              // 0 .. 31, my row of the tile
    const int first = blockIdx.x * Br;      // the block's first query
    const int row = first + t;              // my query, may be past the end

    // Elements of a tile lie one behind the other, and so do a tile's rows.
    // TODO (3 lines): load the whole tile of Q: Br * d elements, 32 threads
    if (t < Br * d) Qs[t] = Q[first * d + t];

    float m = -CUDART_INF_F, l = 0.0f, acc[d] = {};
    // TODO (1 line): how many tiles?
    const int tiles = Nk / Bc;
    for (int tile = 0; tile < tiles; ++tile) {
        const int start = tile * Bc;
        // TODO (5 lines): load the whole tiles of K and V
        if (t < Bc * d) {
            Ks[t] = K[start * d + t];
            Vs[t] = V[start * d + t];
        }
        __syncthreads();  // Qs, Ks and Vs are filled

        // TODO (7 lines): my row's scores, and my row's maximum
        float top = -CUDART_INF_F;
        for (int j = 0; j < Bc; ++j) {
            float s = 0.0f;
            for (int c = 0; c < d; ++c) s += Qs[t * d + c] * Ks[j * d + c];
            S[t][j] = s;
            top = fmaxf(top, s);
        }
        for (int w = 16; w > 0; w /= 2) {  // one maximum for all rows
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, w));
        }

        const float m_new = fmaxf(m, top);
        const float shrink = expf(m - m_new);
        l *= shrink;
        for (int c = 0; c < d; ++c) acc[c] *= shrink;
        for (int j = 0; j < Bc; ++j) {
            const float p = expf(S[t][j] - m_new);
            l += p;
            for (int c = 0; c < d; ++c) acc[c] += p * Vs[j * d + c];
        }
        m = m_new;

        if (trace != nullptr && row < Nq) {
            trace[(row * tiles + tile) * 2] = m;
            trace[(row * tiles + tile) * 2 + 1] = l;
        }
        // TODO (1 line): the next tile comes
        // The hardware loads the next tile meanwhile.
    }

    // TODO (3 lines): write my row of O, if I have one
    for (int c = 0; c < d; ++c) O[row * d + c] = acc[c] / l;
}
