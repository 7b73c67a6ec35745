// O = softmax(scale * Q K^T) V for one head, in one kernel, tile by tile:
// Br queries stay, tiles of Bc keys and values pass by.
//
// grid:  ceil(Nq / Br) blocks     block: 4 Br threads: a warp for 8 queries
// Q:     float32 (Nq, d), read    K, V: float32 (Nk, d), read
// O:     float32 (Nq, d), written
// LSE:   float32 (Nq), written: log of the sum of exp(score)
// trace: null, or float32 (Nq, ceil(Nk / Bc), 2): m and l of each row after
//        each key tile, for a checker to look at
// Nq, Nk: any >= 1
#include <math_constants.h>

constexpr int d = 32;               // multiple of 32
constexpr int Br = 32;              // queries of a block, multiple of 8
constexpr int Bc = 32;              // keys of a tile
constexpr int keys = (Bc + 31) / 32;  // of a lane: lane, lane + 32, ...
constexpr int cols = d / 32;          // of a lane, likewise

extern "C" __global__ void __launch_bounds__(1024)
flash_tiles(const float* Q, const float* K, const float* V, float* O,
            float* LSE, int Nq, int Nk, float scale, float* trace) {
    __shared__ float Qs[Br][d];
    __shared__ float Ks[Bc][d + 1];  // + 1: 32 keys, 32 banks (chapter 4)
    __shared__ float Vs[Bc][d];
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7
    const int first = blockIdx.x * Br;      // the block's first query
    const int tiles = (Nk + Bc - 1) / Bc;

    // Rows past the end are 0: they are worked on and never written.
    for (int k = threadIdx.x; k < Br * d; k += 4 * Br) {
        const int r = k / d, c = k % d;
        Qs[r][c] = first + r < Nq ? Q[(first + r) * d + c] : 0.0f;
    }

    // The running state of 8 rows, the same in all lanes; of acc, my columns.
    float m[8], l[8] = {}, acc[8][cols] = {};
    for (int i = 0; i < 8; ++i) m[i] = -CUDART_INF_F;

    for (int tile = 0; tile < tiles; ++tile) {
        const int start = tile * Bc;         // the tile's first key
        for (int k = threadIdx.x; k < Bc * d; k += 4 * Br) {
            const int j = k / d, c = k % d;
            const bool real = start + j < Nk;
            Ks[j][c] = real ? K[(start + j) * d + c] : 0.0f;
            Vs[j][c] = real ? V[(start + j) * d + c] : 0.0f;
        }
        __syncthreads();  // Qs, Ks and Vs are filled

        // 1. Scores: 8 rows, my keys. The lanes share each query.
        float s[8][keys] = {};
        for (int c = 0; c < d; ++c) {
            for (int k = 0; k < keys; ++k) {
                const float key = Ks[(lane + 32 * k) % Bc][c];
                for (int i = 0; i < 8; ++i) {
                    s[i][k] += Qs[mine + i][c] * key;
                }
            }
        }

#pragma unroll  // so that m[i], l[i] and acc[i] are registers (chapter 8)
        for (int i = 0; i < 8; ++i) {
            // 2. Update, as in chapter 10. A key past the end has weight 0.
            float m_new = m[i];
            for (int k = 0; k < keys; ++k) {
                const int j = lane + 32 * k;
                const bool real = j < Bc && start + j < Nk;
                s[i][k] = real ? scale * s[i][k] : -CUDART_INF_F;
                m_new = fmaxf(m_new, s[i][k]);
            }
            for (int w = 16; w > 0; w /= 2) {
                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
            }
            float l_tile = 0.0f;
            for (int k = 0; k < keys; ++k) {
                const float p = expf(s[i][k] - m_new);
                if (lane + 32 * k < Bc) Ps[mine + i][lane + 32 * k] = p;
                l_tile += p;
            }
            for (int w = 16; w > 0; w /= 2) {
                l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
            }
            const float shrink = expf(m[i] - m_new);  // first tile: 0
            l[i] = l[i] * shrink + l_tile;
            m[i] = m_new;
            for (int u = 0; u < cols; ++u) acc[i][u] *= shrink;

            if (trace != nullptr && lane == 0 && first + mine + i < Nq) {
                const int at = ((first + mine + i) * tiles + tile) * 2;
                trace[at] = m[i];
                trace[at + 1] = l[i];
            }
        }
        __syncwarp();  // my warp's 8 rows of Ps are filled

        // 3. Values: acc += P V. Now a lane is a column, no longer a key.
        for (int j = 0; j < Bc; ++j) {
            for (int u = 0; u < cols; ++u) {
                const float v = Vs[j][lane + 32 * u];
                for (int i = 0; i < 8; ++i) acc[i][u] += Ps[mine + i][j] * v;
            }
        }
        __syncthreads();  // all are done with Ks, Vs and Ps: refill them
    }

    // m and l are those of all keys; acc is divided by l once, at the end.
    float lse = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = first + mine + i;
        if (lane == i) lse = m[i] + logf(l[i]);
        for (int u = 0; u < cols; ++u) {
            if (row < Nq) O[row * d + lane + 32 * u] = acc[i][u] / l[i];
        }
    }
    // Lanes 0 .. 7 write the 8 rows' LSE with one request.
    if (lane < 8 && first + mine + lane < Nq) LSE[first + mine + lane] = lse;
}
