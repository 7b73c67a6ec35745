// dQ from blocks that each keep 16 keys: every block adds what its keys give.
//
// grid:  (ceil(Nk / 16), heads)        block: (16, 16) threads
// Q, dO: float32 (heads, Nq, 64), read, once a block
// K, V:  float32 (heads, Nk, 64), read once
// LSE, delta: float32 (heads, Nq), read
// dQ:    float32 (heads, Nq, 64), 0 before the launch, read and written
extern "C" __global__ void add_to_dq(const float* Q, const float* K,
                                     const float* V, const float* dO,
                                     const float* LSE, const float* delta,
                                     float* dQ, int Nq, int Nk, float scale) {
    constexpr int d = 64, T = 16;
    // Rows of 65: the rows that the lanes of a warp read lie in other banks.
    __shared__ float Qs[T][d + 1], dOs[T][d + 1], Ks[T][d + 1], Vs[T][d + 1];
    __shared__ float dSs[T][T + 1];
    const int x = threadIdx.x, y = threadIdx.y;    // 0 .. 15 each
    const int j = blockIdx.x * T + x;              // my key
    const size_t head = blockIdx.y;
    Q += head * Nq * d;                            // now at this head
    dO += head * Nq * d;
    dQ += head * Nq * d;
    LSE += head * Nq;
    delta += head * Nq;
    K += head * Nk * d;
    V += head * Nk * d;

    for (int c = x; c < d; c += T) {
        const int key = blockIdx.x * T + y;        // the key of tile row y
        Ks[y][c] = key < Nk ? K[key * d + c] : 0.0f;
        Vs[y][c] = key < Nk ? V[key * d + c] : 0.0f;
    }

    for (int start = 0; start < Nq; start += T) {
        const int i = start + y;                   // my query of this tile
        for (int c = x; c < d; c += T) {
            Qs[y][c] = i < Nq ? Q[i * d + c] : 0.0f;
            dOs[y][c] = i < Nq ? dO[i * d + c] : 0.0f;
        }
        __syncthreads();  // all four tiles are filled

        float s = 0.0f, dp = 0.0f;
        for (int c = 0; c < d; ++c) {
            s += Qs[y][c] * Ks[x][c];
            dp += dOs[y][c] * Vs[x][c];
        }
        const bool real = i < Nq && j < Nk;
        dSs[y][x] = real ? expf(scale * s - LSE[i]) * (dp - delta[i]) : 0.0f;
        __syncthreads();  // dSs is filled, and all are done with Qs and dOs

        // Query i, columns x + 16 u: what these 16 keys give.
        float q_sum[4] = {};
        for (int k = 0; k < T; ++k) {
            const float ds = dSs[y][k];
            for (int u = 0; u < 4; ++u) q_sum[u] += ds * Ks[k][x + T * u];
        }
        // Excluded: queries past the end.
        if (i < Nq) {
            for (int u = 0; u < 4; ++u) {
                // TODO (1 line): add it to dQ, where all blocks add theirs
                dQ[i * d + x + T * u] += scale * q_sum[u];
            }
        }
    }
}
