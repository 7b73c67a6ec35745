// Attention for sequences of different lengths, packed one behind the other
// without padding: sequence s has queries cu_q[s] .. cu_q[s + 1] - 1.
//
// grid:   (ceil(longest / 16), heads, sequences) blocks   block: 64 threads
// Q, O:   float32 (all queries, heads, 32); Q is read, O written
// K, V:   float32 (all keys, heads, 32), read
// LSE:    float32 (heads, all queries), written
// cu_q:   int32 (sequences + 1), read: where each sequence begins, and the end
// cu_k:   int32 (sequences + 1), read: the same for the keys
// causal: 1: within its sequence, query i sees keys up to i + Nk - Nq; 0: all
// trace:  null, or float32 (heads, all queries, most tiles, 3): m, l and acc
//         (of column 0) after each key tile that isn't skipped
// most:   key tiles of the sequence that has most
#include <math_constants.h>

extern "C" __global__ void packed_lengths(
    const float* Q, const float* K, const float* V, float* O, float* LSE,
    const int* cu_q, const int* cu_k, float scale, int causal, int most,
    float* trace) {
    constexpr int d = 32, Br = 16, Bc = 32;
    __shared__ float Qs[Br][d];
    __shared__ float Ks[Bc][d + 1];
    __shared__ float Vs[Bc][d];
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;      // my key of a tile, my column
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7
    const int first = blockIdx.x * Br;      // the block's first query
    const int H = gridDim.y;

    // My sequence: from here on there is nothing else.
    // TODO (4 lines): my sequence, its lengths; leave if it ends before me
    const int s0 = 0, k0 = 0;
    const int Nq = cu_q[1], Nk = cu_k[1];
    if (blockIdx.z > 0) return;
    const size_t head = blockIdx.y;
    LSE += head * cu_q[gridDim.z] + s0;
    if (trace != nullptr) {
        trace += (head * cu_q[gridDim.z] + s0) * most * 3;
    }
    // TODO (4 lines): move the pointers to my head of my sequence
    Q += ((size_t)s0 + head) * d;
    O += ((size_t)s0 + head) * d;
    K += ((size_t)k0 + head) * d;
    V += ((size_t)k0 + head) * d;

    const int offset = Nk - Nq;
    const int last = min(first + Br, Nq) - 1;
    const int seen = causal ? min(Nk, last + offset + 1) : Nk;

    for (int k = threadIdx.x; k < Br * d; k += 64) {
        const int r = k / d, c = k % d;
        const bool real = first + r < Nq;
        Qs[r][c] = real ? Q[(size_t)(first + r) * H * d + c] : 0.0f;
    }
    float m[8], l[8] = {}, acc[8] = {};     // state of 8 rows; my column
    for (int i = 0; i < 8; ++i) m[i] = -CUDART_INF_F;

    for (int start = 0; start < seen; start += Bc) {
        for (int k = threadIdx.x; k < Bc * d; k += 64) {
            const int j = k / d, c = k % d;
            const bool real = start + j < Nk;
            const size_t at = (size_t)(start + j) * H * d + c;
            Ks[j][c] = real ? K[at] : 0.0f;
            Vs[j][c] = real ? V[at] : 0.0f;
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
            const int limit = causal ? min(Nk, row + offset + 1) : Nk;
            s[i] = start + lane < limit ? scale * s[i] : -CUDART_INF_F;
        }

#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float m_new = fmaxf(m[i], s[i]);
            for (int w = 16; w > 0; w /= 2) {
                m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
            }
            // A row that has seen no key yet: -inf - -inf would be NaN. Any
            // number will do in its place, since exp(-inf - 0) is 0.
            const float base = m_new == -CUDART_INF_F ? 0.0f : m_new;
            const float p = expf(s[i] - base);
            Ps[mine + i][lane] = p;
            float l_tile = p;
            for (int w = 16; w > 0; w /= 2) {
                l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
            }
            const float shrink = expf(m[i] - base);
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
                trace[(row * most + start / Bc) * 3] = m[i];
                trace[(row * most + start / Bc) * 3 + 1] = l[i];
                trace[(row * most + start / Bc) * 3 + 2] = acc[i];
            }
        }
        __syncthreads();  // all are done with Ks and Vs: refill them
    }

    // No key: l is 0 and m is -inf, so O is 0 and LSE = -inf + log(0) = -inf.
    float lse = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = first + mine + i;
        const float o = l[i] > 0.0f ? acc[i] / l[i] : 0.0f;
        if (row < Nq) O[(size_t)row * H * d + lane] = o;
        if (lane == i) lse = m[i] + logf(l[i]);
    }
    if (lane < 8 && first + mine + lane < Nq) LSE[first + mine + lane] = lse;
}
