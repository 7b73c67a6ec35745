// O = softmax(scale * Q K^T) V in one kernel: no N x N matrix is ever stored.
//
// grid:  (ceil(Nq / 32), heads)      block: 128 threads, 4 for each query row
// Q:     float32 (heads, Nq, 64), read once, 16-byte aligned, as are K, V, O
// K, V:  float32 (heads, Nk, 64), read once a block: ceil(Nq / 32) times
// O:     float32 (heads, Nq, 64), written
// LSE:   float32 (heads, Nq), written: log of the sum of exp(score)
// trace: null, or float32 (heads, Nq, ceil(Nk / 32), 2): m and l of each row
//        after each key tile, for a checker to look at
// A row without keys (Nk = 0) gets O = 0 and LSE = -infinity.
#include <math_constants.h>

constexpr int d = 64;       // length of a query, key or value
constexpr int Br = 32;      // query rows of a block
constexpr int Bc = 32;      // keys of a tile
constexpr int row4 = d / 4; // float4 in a row: 16
// Rows in shared memory are padded by one float4 (17 of them, 68 floats), so
// that the rows which one load touches start in different banks. P: 36 floats.
constexpr int pad4 = row4 + 1;

// dst[r][:] = src[first + r][:] for the 32 rows of a tile; rows past n are 0.
__device__ void load_tile(float4 (*dst)[pad4], const float4* src, int first,
                          int n) {
    // 512 float4, 128 threads: 4 each; the lanes read neighbouring float4.
    for (int k = threadIdx.x; k < Br * row4; k += 128) {
        const int r = k / row4, c = k % row4;
        dst[r][c] = first + r < n ? src[(first + r) * row4 + c]
                                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
}

__device__ float dot4(float4 a, float4 b, float sum) {
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// acc += p * v, four columns at once.
__device__ void add4(float4& acc, float p, float4 v) {
    acc.x += p * v.x;
    acc.y += p * v.y;
    acc.z += p * v.z;
    acc.w += p * v.w;
}

// The four lanes of a row are 8 lanes apart: two exchanges join them.
__device__ float row_max(float v) {
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 8));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 16));
}

__device__ float row_sum(float v) {
    v += __shfl_xor_sync(0xffffffffu, v, 8);
    return v + __shfl_xor_sync(0xffffffffu, v, 16);
}

extern "C" __global__ void flash_forward(const float4* Q, const float4* K,
                                         const float4* V, float4* O, float* LSE,
                                         int Nq, int Nk, float scale,
                                         float* trace) {
    __shared__ float4 Qs[Br][pad4];
    __shared__ float4 Ks[Bc][pad4];
    __shared__ float4 Vs[Bc][pad4];
    __shared__ float Ps[Br][Bc + 4];

    // A warp has 8 rows. Lanes 0-7 do share 0 of them, lanes 8-15 share 1, ...:
    // 8 lanes that are served together want the same float4 of K or V.
    const int lane = threadIdx.x % 32;
    const int r = threadIdx.x / 32 * 8 + lane % 8;  // 0 .. 31, row of the tile
    const int part = lane / 8;              // 0 .. 3, my share of that row
    const int first = blockIdx.x * Br;      // the block's first query
    const int row = first + r;              // my query, may be past the end
    const size_t head = blockIdx.y;
    Q += head * Nq * row4;                  // now at this head's first query,
    K += head * Nk * row4;                  // ... key,
    V += head * Nk * row4;                  // ... and value

    load_tile(Qs, Q, first, Nq);

    // The running state of my row: maximum, sum, and my 16 columns of O
    // (columns 16 u + 4 part .. + 3 for u = 0 .. 3).
    float m = -CUDART_INF_F, l = 0.0f;
    float4 acc[4] = {};

    for (int start = 0; start < Nk; start += Bc) {
        load_tile(Ks, K, start, Nk);
        load_tile(Vs, V, start, Nk);
        __syncthreads();  // Qs, Ks and Vs are filled

        // Scores of keys part, part + 4, .. part + 28 of this tile.
        float s[8] = {};
        for (int c = 0; c < row4; ++c) {
            const float4 q = Qs[r][c];
            for (int i = 0; i < 8; ++i) {
                s[i] = dot4(q, Ks[4 * i + part][c], s[i]);
            }
        }

        // A key past the end counts as -infinity: its weight becomes 0.
        float m_tile = -CUDART_INF_F;
        for (int i = 0; i < 8; ++i) {
            const bool real = start + 4 * i + part < Nk;
            s[i] = real ? scale * s[i] : -CUDART_INF_F;
            m_tile = fmaxf(m_tile, s[i]);
        }

        // The new maximum; what was added up so far is rescaled to it.
        // (Key `start` is real, so m_new is finite. First tile: shrink = 0.)
        const float m_new = fmaxf(m, row_max(m_tile));
        const float shrink = expf(m - m_new);
        float l_tile = 0.0f;
        for (int i = 0; i < 8; ++i) {
            const float p = expf(s[i] - m_new);
            l_tile += p;
            Ps[r][4 * i + part] = p;
        }
        l = l * shrink + row_sum(l_tile);
        m = m_new;
        __syncwarp();  // my row of Ps, written by 4 lanes of my warp, is full

        for (int u = 0; u < 4; ++u) {
            acc[u].x *= shrink;
            acc[u].y *= shrink;
            acc[u].z *= shrink;
            acc[u].w *= shrink;
        }
        for (int j = 0; j < Bc; ++j) {
            const float p = Ps[r][j];
            for (int u = 0; u < 4; ++u) {
                add4(acc[u], p, Vs[j][4 * u + part]);
            }
        }

        if (trace != nullptr && part == 0 && row < Nq) {
            const size_t tiles = (Nk + Bc - 1) / Bc;
            float* t = trace + ((head * Nq + row) * tiles + start / Bc) * 2;
            t[0] = m;
            t[1] = l;
        }
        __syncthreads();  // all are done with Ks and Vs: refill them
    }

    // Excluded: rows past the last query, which worked on zeros.
    if (row < Nq) {
        const float inverse = l > 0.0f ? 1.0f / l : 0.0f;
        for (int u = 0; u < 4; ++u) {
            acc[u].x *= inverse;
            acc[u].y *= inverse;
            acc[u].z *= inverse;
            acc[u].w *= inverse;
            // float4 number 4 u + part: the 4 lanes of a row write 64 bytes.
            O[(head * Nq + row) * row4 + 4 * u + part] = acc[u];
        }
        if (part == 0) LSE[head * Nq + row] = m + logf(l);
    }
}
