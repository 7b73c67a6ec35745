// dK, dV (and dQ) of attention without a stored P: a block keeps 32 keys and
// their values, the queries come by in tiles, and P is made again from LSE.
//
// grid:  (ceil(Nk / 32), kv_heads, batch)      block: 128 threads
// Q, dO: float32 (batch, heads, Nq, 64), read by every block of their key
//        head; 16-byte aligned, as are K, V, dK, dV
// K, V:  float32 (batch, kv_heads, Nk, 64), read once; query heads
//        kv * group, kv * group + 1, .. share key head kv
// LSE, delta: float32 (batch, heads, Nq), read; LSE is -infinity where a
//        query sees no key
// dK, dV: float32 (batch, kv_heads, Nk, 64), written
// dQ:    null, or float32 (batch, heads, Nq, 64), 0 before the launch: each
//        block adds its part, so the order of additions varies
// causal: 0: every query sees every key; 1: query i sees 0 .. i + Nk - Nq
// cu_q, cu_k: null, or int32 (batch + 1), read: packed sequences. Sequence b
//        has queries cu_q[b] .. cu_q[b + 1] - 1, and keys likewise; the arrays
//        are (heads, all queries, 64) and (kv_heads, all keys, 64), and Nq, Nk
//        are those of the longest sequence
constexpr int d = 64;         // length of a query, key or value
constexpr int T = 32;         // keys of a block, queries of a tile
constexpr int row4 = d / 4;   // float4 in a row: 16
constexpr int pad4 = row4 + 1;
constexpr int mine4 = row4 / 4;  // float4 of a row that one thread adds up
constexpr int threads = 4 * T;   // 4 for each row of a tile

// dst[r][:] = src[first + r][:] for the rows of a tile; rows past n are 0.
__device__ void load_tile(float4 (*dst)[pad4], const float4* src, int first,
                          int n) {
    for (int k = threadIdx.x; k < T * row4; k += threads) {
        const int r = k / row4, c = k % row4;
        dst[r][c] = first + r < n ? src[(size_t)(first + r) * row4 + c]
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

__device__ float4 times(float a, float4 v) {
    return make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
}

extern "C" __global__ void __launch_bounds__(threads) flash_backward(
    const float4* Q, const float4* K, const float4* V, const float4* dO,
    const float* LSE, const float* delta, float* dQ, float4* dK, float4* dV,
    int Nq, int Nk, int heads, int kv_heads, float scale, int causal,
    const int* cu_q, const int* cu_k) {
    __shared__ float4 Ks[T][pad4], Vs[T][pad4], Qs[T][pad4], dOs[T][pad4];
    __shared__ float Ps[T][T + 4], dSs[T][T + 4];

    // Rows of a tile are shared out as in the forward kernel: a warp has 8.
    const int lane = threadIdx.x % 32;
    const int r = threadIdx.x / 32 * 8 + lane % 8;  // 0 .. 31
    const int part = lane / 8;                      // 0 .. 3
    const int first = blockIdx.x * T;               // the block's first key
    const int kv = blockIdx.y, b = blockIdx.z;      // key head, sequence
    const int group = heads / kv_heads;

    // Row numbers: of the sequence's first query and key in head 0, and how
    // many rows the next head is further on.
    size_t q_row = (size_t)b * heads * Nq, q_next = Nq;
    size_t k_row = (size_t)b * kv_heads * Nk, k_next = Nk;
    if (cu_q != nullptr) {
        q_row = cu_q[b];
        q_next = cu_q[gridDim.z];
        k_row = cu_k[b];
        k_next = cu_k[gridDim.z];
        Nq = cu_q[b + 1] - cu_q[b];
        Nk = cu_k[b + 1] - cu_k[b];
    }
    k_row += kv * k_next;                           // of my key head

    // Excluded: blocks past the end of a short sequence, all their threads.
    if (first >= Nk) return;

    load_tile(Ks, K + k_row * row4, first, Nk);
    load_tile(Vs, V + k_row * row4, first, Nk);

    // dK and dV of key first + r, columns 16 u + 4 part .. + 3.
    float4 k_sum[mine4] = {}, v_sum[mine4] = {};

    // Query i sees keys up to i + shift. Tiles whose queries all come before
    // the first that sees one of my keys are skipped.
    const int shift = causal ? Nk - Nq : Nk;
    const int begin = max(0, first - shift) / T * T;

    for (int g = 0; g < group; ++g) {
        // The sequence's first row in query head kv * group + g.
        const size_t head = q_row + (kv * group + g) * q_next;
        for (int start = begin; start < Nq; start += T) {
            load_tile(Qs, Q + head * row4, start, Nq);
            load_tile(dOs, dO + head * row4, start, Nq);
            __syncthreads();  // all four tiles are filled

            // Scores and dP of query start + r with keys part, part + 4, ..
            float s[T / 4] = {}, dp[T / 4] = {};
            for (int c = 0; c < row4; ++c) {
                const float4 q = Qs[r][c], o = dOs[r][c];
                for (int i = 0; i < T / 4; ++i) {
                    s[i] = dot4(q, Ks[4 * i + part][c], s[i]);
                    dp[i] = dot4(o, Vs[4 * i + part][c], dp[i]);
                }
            }

            // P again, each weight by itself: no maximum, no sum.
            const int row = start + r;
            const float lse = row < Nq ? LSE[head + row] : 0.0f;
            const float dlt = row < Nq ? delta[head + row] : 0.0f;
            for (int i = 0; i < T / 4; ++i) {
                const int key = first + 4 * i + part;
                // A masked pair is 0 by the test: its LSE may be -infinity.
                const bool seen = row < Nq && key < Nk && key <= row + shift;
                const float p = seen ? expf(scale * s[i] - lse) : 0.0f;
                Ps[r][4 * i + part] = p;
                dSs[r][4 * i + part] = p * (dp[i] - dlt);
            }
            __syncthreads();  // Ps and dSs are filled

            // Now r is a key: it collects from the tile's queries.
            for (int i = 0; i < T; ++i) {
                const float p = Ps[i][r], ds = dSs[i][r];
                for (int u = 0; u < mine4; ++u) {
                    add4(v_sum[u], p, dOs[i][4 * u + part]);
                    add4(k_sum[u], ds, Qs[i][4 * u + part]);
                }
            }

            // What my keys give to dQ of the tile's queries: a warp has 8 of
            // them, a lane every 32nd column, so that lanes add to neighbours.
            if (dQ != nullptr) {
                const int top = threadIdx.x / 32 * 8;
                float q_sum[8][d / 32] = {};
                for (int j = 0; j < T; ++j) {
                    const float* k = (const float*)Ks[j] + lane;
                    for (int i = 0; i < 8; ++i) {
                        const float ds = dSs[top + i][j];
                        for (int u = 0; u < d / 32; ++u) {
                            q_sum[i][u] += ds * k[32 * u];
                        }
                    }
                }
                for (int i = 0; i < 8 && start + top + i < Nq; ++i) {
                    float* out = dQ + (head + start + top + i) * d + lane;
                    for (int u = 0; u < d / 32; ++u) {
                        atomicAdd(out + 32 * u, scale * q_sum[i][u]);
                    }
                }
            }
            __syncthreads();  // all are done with this tile of queries
        }
    }

    // Excluded: rows past the last key.
    if (first + r < Nk) {
        const size_t out = (k_row + first + r) * row4 + part;
        for (int u = 0; u < mine4; ++u) {
            dV[out + 4 * u] = v_sum[u];
            dK[out + 4 * u] = times(scale, k_sum[u]);
        }
    }
}
