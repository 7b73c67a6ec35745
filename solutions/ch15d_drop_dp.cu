// dK and dV with P stored and dP not: 16 keys stay in a block, and the
// queries come by, 16 at a time.
//
// grid:  (ceil(Nk / 16), heads)        block: (16, 16) threads
// P, dP: float32 (heads, Nq, Nk), read; the budget has no bytes for dP
// Q, dO: float32 (heads, Nq, 64), read, once a block
// V:     float32 (heads, Nk, 64), read once
// delta: float32 (heads, Nq), read
// dK, dV: float32 (heads, Nk, 64), written
extern "C" __global__ void drop_dp(const float* P, const float* dP,
                                   const float* Q, const float* V,
                                   const float* dO, const float* delta,
                                   float* dK, float* dV, int Nq, int Nk,
                                   float scale) {
    constexpr int d = 64, T = 16;
    // Rows of 65: the rows that the lanes of a warp read lie in other banks.
    __shared__ float Qs[T][d + 1], dOs[T][d + 1], Vs[T][d + 1];
    __shared__ float Ps[T][T + 1], dSs[T][T + 1];
    const int x = threadIdx.x, y = threadIdx.y;    // 0 .. 15 each
    const int first = blockIdx.x * T;              // the block's first key
    const size_t head = blockIdx.y;
    P += head * Nq * Nk;                           // now at this head
    dP += head * Nq * Nk;
    Q += head * Nq * d;
    dO += head * Nq * d;
    V += head * Nk * d;
    delta += head * Nq;

    // Row y of a tile: 4 columns a thread, 16 apart. Past the end: 0.
    for (int c = x; c < d; c += T) {
        Vs[y][c] = first + y < Nk ? V[(first + y) * d + c] : 0.0f;
    }

    float k_sum[4] = {}, v_sum[4] = {};            // key y, columns x + 16 u
    for (int start = 0; start < Nq; start += T) {
        const int i = start + y;                   // my query of this tile
        const int j = first + x;                   // my key
        const bool real = i < Nq && j < Nk;
        for (int c = x; c < d; c += T) {
            Qs[y][c] = i < Nq ? Q[i * d + c] : 0.0f;
            dOs[y][c] = i < Nq ? dO[i * d + c] : 0.0f;
        }
        __syncthreads();  // Vs, Qs and dOs are filled

        // P and dS of query i and key j; 0 where one of them isn't there.
        const float p = real ? P[(size_t)i * Nk + j] : 0.0f;
        //@solution dP of query i and key j from what is in shared memory
        float dp = 0.0f;
        for (int c = 0; c < d; ++c) dp += dOs[y][c] * Vs[x][c];
        //@stub
        //@ const float dp = real ? dP[(size_t)i * Nk + j] : 0.0f;
        //@end
        Ps[y][x] = p;
        dSs[y][x] = real ? p * (dp - delta[i]) : 0.0f;
        __syncthreads();  // Ps and dSs are filled

        for (int k = 0; k < T; ++k) {
            for (int u = 0; u < 4; ++u) {
                v_sum[u] += Ps[k][y] * dOs[k][x + T * u];
                k_sum[u] += dSs[k][y] * Qs[k][x + T * u];
            }
        }
        __syncthreads();  // all are done with these 16 queries
    }

    // Excluded: keys past the end.
    if (first + y < Nk) {
        const size_t out = (head * Nk + first + y) * d + x;
        for (int u = 0; u < 4; ++u) {
            dV[out + T * u] = v_sum[u];
            dK[out + T * u] = scale * k_sum[u];
        }
    }
}
