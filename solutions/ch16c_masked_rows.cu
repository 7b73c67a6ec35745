// dK and dV of causal attention without a stored P: 16 keys stay in a block,
// and the queries come by, 16 at a time.
//
// grid:  (ceil(Nk / 16), heads)        block: (16, 16) threads
// Q, dO: float32 (heads, Nq, 64), read, once a block
// K, V:  float32 (heads, Nk, 64), read once
// LSE, delta: float32 (heads, Nq), read; LSE is -infinity where no key is seen
// dK, dV: float32 (heads, Nk, 64), written
// Causal: query i sees keys 0 .. i + Nk - Nq.
#include <math_constants.h>

extern "C" __global__ void masked_rows(const float* Q, const float* K,
                                       const float* V, const float* dO,
                                       const float* LSE, const float* delta,
                                       float* dK, float* dV, int Nq, int Nk,
                                       float scale) {
    constexpr int d = 64, T = 16;
    // Rows of 65: the rows that the lanes of a warp read lie in other banks.
    __shared__ float Qs[T][d + 1], dOs[T][d + 1], Ks[T][d + 1], Vs[T][d + 1];
    __shared__ float Ps[T][T + 1], dSs[T][T + 1];
    const int x = threadIdx.x, y = threadIdx.y;    // 0 .. 15 each
    const int first = blockIdx.x * T;              // the block's first key
    const size_t head = blockIdx.y;
    Q += head * Nq * d;                            // now at this head
    dO += head * Nq * d;
    LSE += head * Nq;
    delta += head * Nq;
    K += head * Nk * d;
    V += head * Nk * d;

    for (int c = x; c < d; c += T) {
        Ks[y][c] = first + y < Nk ? K[(first + y) * d + c] : 0.0f;
        Vs[y][c] = first + y < Nk ? V[(first + y) * d + c] : 0.0f;
    }

    float k_sum[4] = {}, v_sum[4] = {};            // key y, columns x + 16 u
    for (int start = 0; start < Nq; start += T) {
        const int i = start + y;                   // my query of this tile
        const int j = first + x;                   // my key
        for (int c = x; c < d; c += T) {
            Qs[y][c] = i < Nq ? Q[i * d + c] : 0.0f;
            dOs[y][c] = i < Nq ? dO[i * d + c] : 0.0f;
        }
        __syncthreads();  // all four tiles are filled

        float s = 0.0f, dp = 0.0f;
        for (int c = 0; c < d; ++c) {
            s += Qs[y][c] * Ks[x][c];
            dp += dOs[y][c] * Vs[x][c];
        }
        // Does query i see key j?
        const bool seen = i < Nq && j < Nk && j <= i + Nk - Nq;
        const float lse = i < Nq ? LSE[i] : 0.0f;
        const float dlt = i < Nq ? delta[i] : 0.0f;
        //@solution the weight: exp(score - LSE), and 0 where nothing is seen
        const float p = seen ? expf(scale * s - lse) : 0.0f;
        //@stub
        //@ const float score = seen ? scale * s : -CUDART_INF_F;
        //@ const float p = expf(score - lse);
        //@end
        Ps[y][x] = p;
        dSs[y][x] = p * (dp - dlt);
        __syncthreads();  // Ps and dSs are filled

        for (int k = 0; k < T; ++k) {
            for (int u = 0; u < 4; ++u) {
                v_sum[u] += Ps[k][y] * dOs[k][x + T * u];
                k_sum[u] += dSs[k][y] * Qs[k][x + T * u];
            }
        }
        __syncthreads();  // all are done with these 16 queries
    }

    // Excluded: keys past the end.
    if (first + y < Nk) {
        const size_t out = (head * Nk + first + y) * d + x;
        for (int u = 0; u < 4; ++u) {
            dV[out + T * u] = v_sum[u];
            dK[out + T * u] = scale * k_sum[u];
        }
    }
}
