// O = softmax(scale * Q K^T) V for one head on tensor cores; the weights go
// from the first product to the second in registers.
//
// grid:  ceil(Nq / 16) blocks      block: 32 threads: a warp for 16 queries
// Q:     fp16 (Nq, 32), read       K, V: fp16 (Nk, 32), read
// O:     float32 (Nq, 32), written     LSE: float32 (Nq), written
// Nq, Nk: any >= 1
#include <math_constants.h>
#include <ptx.cuh>

constexpr int d = 32, Br = 16, Bc = 16;

extern "C" __global__ void scores_values(
    const __half* Q, const __half* K, const __half* V, float* O, float* LSE,
    int Nq, int Nk, float scale) {
    const int group = threadIdx.x / 4;     // my rows: group and group + 8
    const int pair = threadIdx.x % 4 * 2;  // where my pairs begin
    const int first = blockIdx.x * Br;     // the block's first query

    // Row r of a matrix, from column c: a pair. Rows behind the end: zeros.
    auto two = [](const __half* from, int r, int rows, int c) {
        return r < rows ? *(const unsigned*)(from + r * d + c) : 0u;
    };
    unsigned q[d / 16][4];                 // Q: two fragments of 16 x 16
    for (int k = 0; k < d / 16; ++k) {
        for (int r = 0; r < 4; ++r) {
            q[k][r] = two(Q, first + group + r % 2 * 8, Nq,
                          16 * k + pair + r / 2 * 8);
        }
    }
    float m[2] = {-CUDART_INF_F, -CUDART_INF_F}, l[2] = {};
    float o[d / 8][4] = {};                // O: four fragments of 16 x 8

    for (int start = 0; start < Nk; start += Bc) {
        // S: two fragments of 16 queries x 8 keys. B is K^T: its columns are
        // rows of K, so its pairs are neighbours in memory.
        float s[2][4] = {};
        for (int j = 0; j < 2; ++j) {
            const int key = start + 8 * j + group;
            for (int k = 0; k < d / 16; ++k) {
                ptx::mma_m16n8k16(s[j], q[k], two(K, key, Nk, 16 * k + pair),
                                  two(K, key, Nk, 16 * k + pair + 8), __half());
            }
        }

        // s[j][e]: row group + e / 2 * 8, key 8 j + pair + e % 2.
        for (int h = 0; h < 2; ++h) {      // my upper row, my lower row
            float m_new = m[h];
            for (int j = 0; j < 2; ++j) {
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    const bool real = start + 8 * j + pair + e % 2 < Nk;
                    s[j][e] = real ? scale * s[j][e] : -CUDART_INF_F;
                    m_new = fmaxf(m_new, s[j][e]);
                }
            }
            // A row lies in 4 lanes, whose numbers differ in the last 2 bits.
            for (int w = 1; w <= 2; w *= 2) {
                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
            }
            const float shrink = expf(m[h] - m_new);
            m[h] = m_new;
            l[h] *= shrink;                // my 2 of each 8 keys; joined below
            for (int j = 0; j < 2; ++j) {
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    s[j][e] = expf(s[j][e] - m_new);
                    l[h] += s[j][e];
                }
            }
            for (int c = 0; c < d / 8; ++c) {
                o[c][2 * h] *= shrink;
                o[c][2 * h + 1] *= shrink;
            }
        }

        // The weights as A: a pair of C is a pair of A, in the same lane.
        const unsigned p[4] = {ptx::pack2(s[0][0], s[0][1], __half()),
                               ptx::pack2(s[0][2], s[0][3], __half()),
                               ptx::pack2(s[1][0], s[1][1], __half()),
                               ptx::pack2(s[1][2], s[1][3], __half())};

        // O += P V. V's pairs lie one below the other: two loads each.
        for (int c = 0; c < d / 8; ++c) {
            unsigned b[2];
            for (int r = 0; r < 2; ++r) {
                const int key = start + 8 * r + pair;
                const unsigned short* v =
                    (const unsigned short*)V + key * d + 8 * c + group;
                const unsigned low = key < Nk ? v[0] : 0;
                const unsigned high = key + 1 < Nk ? v[d] : 0;
                b[r] = low | high << 16;
            }
            ptx::mma_m16n8k16(o[c], p, b[0], b[1], __half());
        }
    }

    for (int h = 0; h < 2; ++h) {
        for (int w = 1; w <= 2; w *= 2) {
            l[h] += __shfl_xor_sync(0xffffffffu, l[h], w);
        }
        const int row = first + group + 8 * h;
        if (row >= Nq) continue;
        for (int c = 0; c < d / 8; ++c) {
            *(float2*)(O + row * d + 8 * c + pair) =
                make_float2(o[c][2 * h] / l[h], o[c][2 * h + 1] / l[h]);
        }
        if (pair == 0) LSE[row] = m[h] + logf(l[h]);
    }
}
