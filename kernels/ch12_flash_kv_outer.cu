// The other loop order, FlashAttention-1's Algorithm 1 (Dao et al., 2022):
// a tile of Bc keys and values stays, all queries pass by, Br at a time. What
// a row has so far (O, m, l) waits in global memory between two key tiles.
//
// grid:  1 block: key tiles come one after the other
// block: 4 Br threads: a warp for 8 queries
// Q:     float32 (N, d), read     K, V: float32 (N, d), read
// O:     float32 (N, d), read and written: 0 before the launch
// m, l:  float32 (N), read and written: -infinity and 0 before the launch
// N:     any >= 1
#include <math_constants.h>

constexpr int d = 32;               // multiple of 32
constexpr int Br = 32;              // queries at a time, multiple of 8
constexpr int Bc = 32;              // keys of a tile
constexpr int keys = (Bc + 31) / 32;  // of a lane: lane, lane + 32, ...
constexpr int cols = d / 32;          // of a lane, likewise

extern "C" __global__ void __launch_bounds__(1024)
flash_kv_outer(const float* Q, const float* K, const float* V, float* O,
               float* m, float* l, int N, float scale) {
    __shared__ float Qs[Br][d];
    __shared__ float Ks[Bc][d + 1];
    __shared__ float Vs[Bc][d];
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7

    for (int start = 0; start < N; start += Bc) {
        for (int k = threadIdx.x; k < Bc * d; k += 4 * Br) {
            const int j = k / d, c = k % d;
            const bool real = start + j < N;
            Ks[j][c] = real ? K[(start + j) * d + c] : 0.0f;
            Vs[j][c] = real ? V[(start + j) * d + c] : 0.0f;
        }
        __syncthreads();  // Ks and Vs are filled

        for (int first = mine; first < N; first += Br) {
            // Now first is my warp's first query. Fetch 8 rows of Q, and what
            // these rows have so far: O, and in lane i the m and l of row i.
            float acc[8][cols], m_mine = -CUDART_INF_F, l_mine = 0.0f;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                for (int u = 0; u < cols; ++u) {
                    const int at = (first + i) * d + lane + 32 * u;
                    const bool real = first + i < N;
                    Qs[mine + i][lane + 32 * u] = real ? Q[at] : 0.0f;
                    acc[i][u] = real ? O[at] : 0.0f;
                }
            }
            if (lane < 8 && first + lane < N) {
                m_mine = m[first + lane];
                l_mine = l[first + lane];
            }
            __syncwarp();  // my warp's 8 rows of Qs are filled

            float s[8][keys] = {};
            for (int c = 0; c < d; ++c) {
                for (int k = 0; k < keys; ++k) {
                    const float key = Ks[(lane + 32 * k) % Bc][c];
                    for (int i = 0; i < 8; ++i) {
                        s[i][k] += Qs[mine + i][c] * key;
                    }
                }
            }

#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float m_old = __shfl_sync(0xffffffffu, m_mine, i);
                const float l_old = __shfl_sync(0xffffffffu, l_mine, i);
                float m_new = m_old;
                for (int k = 0; k < keys; ++k) {
                    const int j = lane + 32 * k;
                    const bool real = j < Bc && start + j < N;
                    s[i][k] = real ? scale * s[i][k] : -CUDART_INF_F;
                    m_new = fmaxf(m_new, s[i][k]);
                }
                for (int w = 16; w > 0; w /= 2) {
                    m_new = fmaxf(m_new,
                                  __shfl_xor_sync(0xffffffffu, m_new, w));
                }
                float l_new = 0.0f;
                for (int k = 0; k < keys; ++k) {
                    const float p = expf(s[i][k] - m_new);
                    if (lane + 32 * k < Bc) Ps[mine + i][lane + 32 * k] = p;
                    l_new += p;
                }
                for (int w = 16; w > 0; w /= 2) {
                    l_new += __shfl_xor_sync(0xffffffffu, l_new, w);
                }
                const float l_kept = l_old * expf(m_old - m_new);
                l_new += l_kept;
                // O was divided by l_old. As a sum it is O * l_old; against
                // the new maximum that is O * l_kept.
                for (int u = 0; u < cols; ++u) acc[i][u] *= l_kept;
                if (lane == i) {
                    m_mine = m_new;
                    l_mine = l_new;
                }
            }
            __syncwarp();  // my warp's 8 rows of Ps are filled

            for (int j = 0; j < Bc; ++j) {
                for (int u = 0; u < cols; ++u) {
                    const float v = Vs[j][lane + 32 * u];
                    for (int i = 0; i < 8; ++i) {
                        acc[i][u] += Ps[mine + i][j] * v;
                    }
                }
            }

#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float l_new = __shfl_sync(0xffffffffu, l_mine, i);
                for (int u = 0; u < cols; ++u) {
                    const int at = (first + i) * d + lane + 32 * u;
                    if (first + i < N) O[at] = acc[i][u] / l_new;
                }
            }
            if (lane < 8 && first + lane < N) {
                m[first + lane] = m_mine;
                l[first + lane] = l_mine;
            }
            // The next turn overwrites Qs and Ps, each behind the barrier that
            // all 32 lanes reach after they have read the other of the two.
        }
        __syncthreads();  // all are done with Ks and Vs: refill them
    }
}
