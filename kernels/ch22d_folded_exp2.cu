// Causal attention with exp2: the scale and log2(e) in one factor. Half done:
// exp(scale s - scale m) = exp2(factor s - factor m), factor = scale log2(e).
//
// grid:  ceil(Nq / 16) blocks     block: 64 threads: a warp for 8 queries
// Q:     float32 (Nq, 32), read   K, V: float32 (Nk, 32), read
// O:     float32 (Nq, 32), written; 0 for a row that sees no key
// LSE:   float32 (Nq), written; -infinity for a row that sees no key
// trace: null, or float32 (Nq, ceil(Nk / 32), 3): m, l and acc (of column 0)
//        after each key tile that isn't skipped (given)
// Nq, Nk: any >= 1; query i sees keys up to i + Nk - Nq
#include <math_constants.h>

extern "C" __global__ void folded_exp2(
    const float* Q, const float* K, const float* V, float* O, float* LSE,
    int Nq, int Nk, float scale, float* trace) {
    constexpr int d = 32, Br = 16, Bc = 32;
    __shared__ float Qs[Br][d];
    __shared__ float Ks[Bc][d + 1];
    __shared__ float Vs[Bc][d];
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;      // my key of a tile, my column
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7
    const int first = blockIdx.x * Br;      // the block's first query
    const int tiles = (Nk + Bc - 1) / Bc;

    const int offset = Nk - Nq;  // query i sees keys 0 .. i + offset
    // The block's last query sees most; behind its last key is nothing to do.
    const int last = min(first + Br, Nq) - 1;
    const int seen = min(Nk, last + offset + 1);

    for (int k = threadIdx.x; k < Br * d; k += 64) {
        const int r = k / d, c = k % d;
        Qs[r][c] = first + r < Nq ? Q[(first + r) * d + c] : 0.0f;
    }
    const float factor = scale * 1.4426950408889634f;
    float m[8], l[8] = {}, acc[8] = {};     // 8 rows: m of unscaled scores
    for (int i = 0; i < 8; ++i) m[i] = -CUDART_INF_F;

    for (int start = 0; start < seen; start += Bc) {
        for (int k = threadIdx.x; k < Bc * d; k += 64) {
            const int j = k / d, c = k % d;
            const bool real = start + j < Nk;
            Ks[j][c] = real ? K[(start + j) * d + c] : 0.0f;
            Vs[j][c] = real ? V[(start + j) * d + c] : 0.0f;
        }
        __syncthreads();  // Qs, Ks and Vs are filled

        float s[8] = {};
        for (int c = 0; c < d; ++c) {
            const float key = Ks[lane][c];
            for (int i = 0; i < 8; ++i) s[i] += Qs[mine + i][c] * key;
        }

        // A score that doesn't count is -infinity: its weight is exactly 0.
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int row = first + mine + i;
            const int limit = min(Nk, row + offset + 1);
            if (start + lane >= limit) s[i] = -CUDART_INF_F;
        }

#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float m_new = fmaxf(m[i], s[i]);
            for (int w = 16; w > 0; w /= 2) {
                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
            }
            // A row that has seen no key yet: -inf - -inf would be NaN.
            const float base = m_new == -CUDART_INF_F ? 0.0f : factor * m_new;
            const float p = exp2f(fmaf(s[i], factor, -base));
            Ps[mine + i][lane] = p;
            float l_tile = p;
            for (int w = 16; w > 0; w /= 2) {
                l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
            }
            // TODO (1 line): the old sums were measured against m[i]
            const float shrink = expf(m[i] - m_new);
            l[i] = l[i] * shrink + l_tile;
            acc[i] *= shrink;
            m[i] = m_new;
        }
        __syncwarp();  // my warp's 8 rows of Ps are filled

        for (int j = 0; j < Bc; ++j) {
            const float v = Vs[j][lane];
            for (int i = 0; i < 8; ++i) acc[i] += Ps[mine + i][j] * v;
        }

        if (trace != nullptr && lane == 0) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int row = first + mine + i;
                if (row >= Nq) continue;
                trace[(row * tiles + start / Bc) * 3] = scale * m[i];
                trace[(row * tiles + start / Bc) * 3 + 1] = l[i];
                trace[(row * tiles + start / Bc) * 3 + 2] = acc[i];
            }
        }
        __syncthreads();  // all are done with Ks and Vs: refill them
    }

    // No key: l is 0 and m is -inf, so O is 0 and LSE = -inf + log(0) = -inf.
    float lse = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = first + mine + i;
        if (row < Nq) O[row * d + lane] = l[i] > 0.0f ? acc[i] / l[i] : 0.0f;
        // TODO (1 line): the LSE is of scaled scores, to the base e
        if (lane == i) lse = factor * m[i] + log2f(l[i]);
    }
    if (lane < 8 && first + mine + lane < Nq) LSE[first + mine + lane] = lse;
}
