// Causal attention for all heads, by any number of blocks: each takes item
// after item, an item being a tile of queries of a head. The work of an item
// is the key tiles that it visits: the order of the items is yours.
//
// grid:    any number of blocks             block: 64 threads
// Q, K, V: float32 (heads, N, 32), read     O: float32 (heads, N, 32), written
// LSE:     float32 (heads, N), written
// visited: int32 (items), written: key tiles that item 0, 1, ... visits; it
//          must never grow from one item to the next
// heads, N: any >= 1; N keys and N queries for each head
#include <math_constants.h>

extern "C" __global__ void longest_first(
    const float* Q, const float* K, const float* V, float* O, float* LSE,
    int* visited, int heads, int N, float scale) {
    constexpr int d = 32, Br = 16, Bc = 32;
    __shared__ float Qs[Br][d];
    __shared__ float Ks[Bc][d + 1];
    __shared__ float Vs[Bc][d];
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;      // my key of a tile, my column
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7
    const int tiles = (N + Br - 1) / Br;    // query tiles of a head
    const int items = tiles * heads;

    // Item 0, 1, ... : the blocks take them in this order.
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        // TODO (2 lines): which head and which tile is item 0? The longest
        //   first
        const int first = item % tiles * Br;  // first query
        const size_t head = item / tiles;
        const float* q = Q + head * N * d;  // at the head's query 0
        const float* keys = K + head * N * d;
        const float* values = V + head * N * d;
        float* o = O + head * N * d;

        // The block's last query sees most keys.
        const int seen = min(first + Br, N);
        if (threadIdx.x == 0) visited[item] = (seen + Bc - 1) / Bc;

        for (int k = threadIdx.x; k < Br * d; k += 64) {
            const int r = k / d, c = k % d;
            Qs[r][c] = first + r < N ? q[(first + r) * d + c] : 0.0f;
        }
        float m[8], l[8] = {}, acc[8] = {};     // state of 8 rows; my column
        for (int i = 0; i < 8; ++i) m[i] = -CUDART_INF_F;

        for (int start = 0; start < seen; start += Bc) {
            for (int k = threadIdx.x; k < Bc * d; k += 64) {
                const int j = k / d, c = k % d;
                const bool real = start + j < N;
                Ks[j][c] = real ? keys[(start + j) * d + c] : 0.0f;
                Vs[j][c] = real ? values[(start + j) * d + c] : 0.0f;
            }
            __syncthreads();  // Qs, Ks and Vs are filled

            float s[8] = {};
            for (int c = 0; c < d; ++c) {
                const float key = Ks[lane][c];
                for (int i = 0; i < 8; ++i) s[i] += Qs[mine + i][c] * key;
            }

            // Causal: row i sees keys 0 .. i.
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int row = first + mine + i;
                const int limit = min(N, row + 1);
                s[i] = start + lane < limit ? scale * s[i] : -CUDART_INF_F;
            }

#pragma unroll
            for (int i = 0; i < 8; ++i) {
                float m_new = fmaxf(m[i], s[i]);
                for (int w = 16; w > 0; w /= 2) {
                    m_new = fmaxf(m_new,
                                  __shfl_xor_sync(0xffffffffu, m_new, w));
                }
                const float p = expf(s[i] - m_new);
                Ps[mine + i][lane] = p;
                float l_tile = p;
                for (int w = 16; w > 0; w /= 2) {
                    l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
                }
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
            __syncthreads();  // all are done with Ks and Vs: refill them
        }

        float lse = 0.0f;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int row = first + mine + i;
            if (row < N) o[row * d + lane] = acc[i] / l[i];
            if (lane == i) lse = m[i] + logf(l[i]);
        }
        const int row = first + mine + lane;
        if (lane < 8 && row < N) LSE[head * N + row] = lse;
    }
}
