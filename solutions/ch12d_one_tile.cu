// Attention in one kernel: keys and values take turns in the same memory.
//
// grid:  ceil(Nq / 16) blocks     block: 64 threads: a warp for 8 queries
// Q:     float32 (Nq, 32), read   K, V: float32 (Nk, 32), read
// O:     float32 (Nq, 32), written
// LSE:   float32 (Nq), written: log of the sum of exp(score)
// trace: null, or float32 (Nq, ceil(Nk / 32), 3): m, l and acc (of column 0)
//        after each key tile (given)
// Nq, Nk: any >= 1
#include <math_constants.h>

extern "C" __global__ void one_tile(
    const float* Q, const float* K, const float* V, float* O, float* LSE,
    int Nq, int Nk, float scale, float* trace) {
    constexpr int d = 32, Br = 16, Bc = 32;
    __shared__ float Qs[Br][d];
    __shared__ float KV[Bc][d + 1];  // first the tile's keys, then its values
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;      // my key of a tile, my column
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7
    const int first = blockIdx.x * Br;      // the block's first query
    const int tiles = (Nk + Bc - 1) / Bc;

    for (int k = threadIdx.x; k < Br * d; k += 64) {
        const int r = k / d, c = k % d;
        Qs[r][c] = first + r < Nq ? Q[(first + r) * d + c] : 0.0f;
    }
    float m[8], l[8] = {}, acc[8] = {};    // state of 8 rows; my column
    for (int i = 0; i < 8; ++i) m[i] = -CUDART_INF_F;

    for (int tile = 0; tile < tiles; ++tile) {
        const int start = tile * Bc;        // the tile's first key
        for (int k = threadIdx.x; k < Bc * d; k += 64) {
            const int j = k / d, c = k % d;
            KV[j][c] = start + j < Nk ? K[(start + j) * d + c] : 0.0f;
        }
        __syncthreads();  // Qs is filled, and KV with keys

        // 1. Scores of my key with 8 rows; -infinity for a key past the end.
        float s[8] = {};
        for (int c = 0; c < d; ++c) {
            const float key = KV[lane][c];
            for (int i = 0; i < 8; ++i) s[i] += Qs[mine + i][c] * key;
        }
        for (int i = 0; i < 8; ++i) s[i] *= scale;

#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (start + lane >= Nk) s[i] = -CUDART_INF_F;
        }

#pragma unroll
        for (int i = 0; i < 8; ++i) {
            // 2. Update the state of row mine + i by this tile's 32 keys.
            float m_new = fmaxf(m[i], s[i]);
            for (int w = 16; w > 0; w /= 2) {
                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
            }
            const float p = expf(s[i] - m_new);
            Ps[mine + i][lane] = p;
            float l_tile = p;
            for (int w = 16; w > 0; w /= 2) {
                l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
            }
            const float shrink = expf(m[i] - m_new);  // first tile: 0
            l[i] = l[i] * shrink + l_tile;
            acc[i] *= shrink;
            m[i] = m_new;
        }
        //@solution the values take the keys' place
        __syncthreads();  // all are done with the keys (and Ps is filled)
        for (int k = threadIdx.x; k < Bc * d; k += 64) {
            const int j = k / d, c = k % d;
            KV[j][c] = start + j < Nk ? V[(start + j) * d + c] : 0.0f;
        }
        //@stub
        //@ for (int k = threadIdx.x; k < Bc * d; k += 64) {
        //@     const int j = k / d, c = k % d;
        //@     KV[j][c] = start + j < Nk ? V[(start + j) * d + c] : 0.0f;
        //@ }
        //@end
        __syncthreads();  // KV is filled with values

        //@solution add, and let the next keys take the values' place
        // 3. Values: acc += P V. Now my lane is a column, no longer a key.
        for (int j = 0; j < Bc; ++j) {
            const float v = KV[j][lane];
            for (int i = 0; i < 8; ++i) acc[i] += Ps[mine + i][j] * v;
        }
        __syncthreads();  // all are done with the values
        //@stub
        //@ // 3. Values: acc += P V. Now my lane is a column, no longer a key.
        //@ for (int j = 0; j < Bc; ++j) {
        //@     const float v = KV[j][lane];
        //@     for (int i = 0; i < 8; ++i) acc[i] += Ps[mine + i][j] * v;
        //@ }
        //@end

        if (trace != nullptr && lane == 0) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int row = first + mine + i;
                if (row >= Nq) continue;
                trace[(row * tiles + tile) * 3] = m[i];
                trace[(row * tiles + tile) * 3 + 1] = l[i];
                trace[(row * tiles + tile) * 3 + 2] = acc[i];
            }
        }
    }

    float lse = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = first + mine + i;
        if (row < Nq) O[row * d + lane] = acc[i] / l[i];
        if (lane == i) lse = m[i] + logf(l[i]);
    }
    // Lanes 0 .. 7 write the 8 rows' LSE with one request.
    if (lane < 8 && first + mine + lane < Nq) LSE[first + mine + lane] = lse;
}
