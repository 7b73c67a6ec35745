// Attention where `group` query heads share a head of K and V; a block takes
// the rows of all of them. Which row is which is yours.
//
// grid:   (ceil(Nq * group / 16), Hkv, batch) blocks      block: 64 threads
// Q, O:   float32 (batch, Nq, Hkv * group, 32); Q is read, O written
// K, V:   float32 (batch, Nk, Hkv, 32), read
// LSE:    float32 (batch, Hkv * group, Nq), written
// group:  query heads for each head of K and V
// causal: 1: query i sees keys up to i + Nk - Nq; 0: all keys
// trace:  null, or float32 (batch, Hkv * group, Nq, ceil(Nk / 32), 3): m, l
//         and acc (of column 0) after each key tile that isn't skipped
#include <math_constants.h>

extern "C" __global__ void group_rows(
    const float* Q, const float* K, const float* V, float* O, float* LSE,
    int Nq, int Nk, float scale, int causal, int group, float* trace) {
    constexpr int d = 32, Br = 16, Bc = 32;
    __shared__ float Qs[Br][d];
    __shared__ float Ks[Bc][d + 1];
    __shared__ float Vs[Bc][d];
    __shared__ float Ps[Br][Bc];
    const int lane = threadIdx.x % 32;      // my key of a tile, my column
    const int mine = threadIdx.x / 32 * 8;  // my warp's rows: mine .. mine + 7
    const int first = blockIdx.x * Br;      // the block's first row
    const int rows = Nq * group;            // of this head of K and V
    const int tiles = (Nk + Bc - 1) / Bc;

    // Row p = 0 .. rows - 1 is a query of a head of my group. All pointers are
    // moved to query 0 of my group's head 0.
    const int Hkv = gridDim.y, H = Hkv * group;
    const size_t kv = blockIdx.y, batch = blockIdx.z;
    Q += (batch * Nq * H + kv * group) * d;
    O += (batch * Nq * H + kv * group) * d;
    K += (batch * Nk * Hkv + kv) * d;
    V += (batch * Nk * Hkv + kv) * d;
    LSE += (batch * H + kv * group) * Nq;
    if (trace != nullptr) trace += (batch * H + kv * group) * Nq * tiles * 3;

    const int offset = Nk - Nq;
    //@solution the last query of the block
    const int last = (min(first + Br, rows) - 1) / group;
    //@stub
    //@ const int last = min(first + Br, Nq) - 1;
    //@end
    const int seen = causal ? min(Nk, last + offset + 1) : Nk;

    for (int k = threadIdx.x; k < Br * d; k += 64) {
        const int r = k / d, c = k % d;
        const int p = first + r;
        //@solution where row p lies in Q: query p / group, head p % group
        const size_t at = ((size_t)(p / group) * H + p % group) * d + c;
        //@stub
        //@ const size_t at = (size_t)p * d + c;
        //@end
        Qs[r][c] = p < rows ? Q[at] : 0.0f;
    }
    float m[8], l[8] = {}, acc[8] = {};     // state of 8 rows; my column
    for (int i = 0; i < 8; ++i) m[i] = -CUDART_INF_F;

    for (int start = 0; start < seen; start += Bc) {
        for (int k = threadIdx.x; k < Bc * d; k += 64) {
            const int j = k / d, c = k % d;
            const bool real = start + j < Nk;
            const size_t at = (size_t)(start + j) * Hkv * d + c;
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
            //@solution my row's query
            const int query = (first + mine + i) / group;
            //@stub
            //@ const int query = first + mine + i;
            //@end
            const int limit = causal ? min(Nk, query + offset + 1) : Nk;
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
                const int p = first + mine + i;
                if (p >= rows) continue;
                const int row = p % group * Nq + p / group;
                trace[(row * tiles + start / Bc) * 3] = m[i];
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
        const int p = first + mine + i;
        //@solution where row p lies in O
        const size_t at = ((size_t)(p / group) * H + p % group) * d + lane;
        //@stub
        //@ const size_t at = (size_t)p * d + lane;
        //@end
        const float o = l[i] > 0.0f ? acc[i] / l[i] : 0.0f;
        if (p < rows) O[at] = o;
        if (lane == i) lse = m[i] + logf(l[i]);
    }
    const int p = first + mine + lane;
    //@solution where row p lies in LSE: a head's queries are neighbours
    if (lane < 8 && p < rows) LSE[p % group * Nq + p / group] = lse;
    //@stub
    //@ if (lane < 8 && p < rows) LSE[p] = lse;
    //@end
}
