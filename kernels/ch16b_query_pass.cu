// dQ (and delta) without a stored P: a block keeps 16 queries, the keys come by
// in tiles, and P is made again from LSE. No atomics: a block owns its dQ.
//
// grid:  (ceil(Nq / 16), heads, batch)      block: (16, 16) threads
// Q, O, dO: float32 (batch, heads, Nq, 64), read
// K, V:  float32 (batch, kv_heads, Nk, 64), read; heads / kv_heads query
//        heads share a key head
// LSE:   float32 (batch, heads, Nq), read; -infinity where no key is seen
// delta: float32 (batch, heads, Nq), written
// dQ:    float32 (batch, heads, Nq, 64), written
// causal: 0: every query sees every key; 1: query i sees 0 .. i + Nk - Nq
extern "C" __global__ void query_pass(const float* Q, const float* K,
                                      const float* V, const float* O,
                                      const float* dO, const float* LSE,
                                      float* delta, float* dQ, int Nq, int Nk,
                                      int kv_heads, float scale, int causal) {
    constexpr int d = 64, T = 16;
    // Rows of 65: the rows that the lanes of a warp read lie in other banks.
    __shared__ float Qs[T][d + 1], dOs[T][d + 1], Ks[T][d + 1], Vs[T][d + 1];
    __shared__ float dSs[T][T + 1];
    const int x = threadIdx.x, y = threadIdx.y;    // 0 .. 15 each
    const int row = blockIdx.x * T + y;            // my query
    const size_t head = (size_t)blockIdx.z * gridDim.y + blockIdx.y;
    const int group = gridDim.y / kv_heads;
    const size_t kv = (size_t)blockIdx.z * kv_heads + blockIdx.y / group;
    Q += head * Nq * d;                            // now at this head
    O += head * Nq * d;
    dO += head * Nq * d;
    K += kv * Nk * d;                              // now at its key head
    V += kv * Nk * d;

    // Row y of both tiles, and of O: columns x + 16 u. Past the end: 0.
    float dlt = 0.0f;
    for (int c = x; c < d; c += T) {
        Qs[y][c] = row < Nq ? Q[row * d + c] : 0.0f;
        dOs[y][c] = row < Nq ? dO[row * d + c] : 0.0f;
        // TODO (1 line): my share of delta of row y
    }
    // The 16 threads of a row are half a warp: four exchanges join them.
    for (int w = T / 2; w > 0; w /= 2) {
        dlt += __shfl_xor_sync(0xffffffffu, dlt, w);
    }
    if (row < Nq && x == 0) delta[head * Nq + row] = dlt;
    const float lse = row < Nq ? LSE[head * Nq + row] : 0.0f;

    // The block's last query sees keys below `end`, the others fewer.
    const int shift = causal ? Nk - Nq : Nk;
    const int end = min(Nk, blockIdx.x * T + T + shift);
    float q_sum[4] = {};                           // row y, columns x + 16 u
    for (int start = 0; start < end; start += T) {
        for (int c = x; c < d; c += T) {
            Ks[y][c] = start + y < Nk ? K[(start + y) * d + c] : 0.0f;
            Vs[y][c] = start + y < Nk ? V[(start + y) * d + c] : 0.0f;
        }
        __syncthreads();  // all four tiles are filled

        const int key = start + x;
        float s = 0.0f, dp = 0.0f;
        for (int c = 0; c < d; ++c) {
            s += Qs[y][c] * Ks[x][c];
            dp += dOs[y][c] * Vs[x][c];
        }
        // TODO (3 lines): the pair's weight and dS: 0 where it is masked or not
        //   there
        dSs[y][x] = row < Nq && key < Nk ? dp - dlt : 0.0f;
        __syncthreads();  // dSs is filled

        // TODO (4 lines): add the keys' part of dQ
        for (int u = 0; u < 4; ++u) q_sum[u] += dSs[y][x];
        __syncthreads();  // all are done with these 16 keys
    }

    // Excluded: rows past the last query.
    if (row < Nq) {
        for (int u = 0; u < 4; ++u) {
            dQ[(head * Nq + row) * d + x + T * u] = scale * q_sum[u];
        }
    }
}
