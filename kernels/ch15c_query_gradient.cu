// dQ = scale * dS K straight from P, V, K, O and dO: dP and dS live in
// registers, 32 keys at a time. A warp a query.
//
// grid:  (ceil(Nq / 4), heads)         block: 128 threads: one warp a query
// P:     float32 (heads, Nq, Nk), read
// K, V:  float32 (heads, Nk, 64), read
// O, dO: float32 (heads, Nq, 64), read
// dQ:    float32 (heads, Nq, 64), written
extern "C" __global__ void query_gradient(const float* P, const float* K,
                                          const float* V, const float* O,
                                          const float* dO, float* dQ, int Nq,
                                          int Nk, float scale) {
    constexpr int d = 64;
    const int lane = threadIdx.x % 32;
    const int r = threadIdx.x / 32;                // 0 .. 3, my warp
    const int row = blockIdx.x * 4 + r;            // my query
    const size_t head = blockIdx.y;

    // Excluded: warps past the last query; a whole warp leaves together.
    if (row >= Nq) return;
    P += (head * Nq + row) * Nk;                   // now at my row
    K += head * Nk * d;                            // now at this head
    V += head * Nk * d;
    O += (head * Nq + row) * d;                    // now at my row
    // TODO (1 line): make dO point at my row, too
    dO += (head * Nq + r) * d;

    // delta: columns lane and lane + 32 of my row, then the sum of all lanes.
    float delta = O[lane] * dO[lane] + O[lane + 32] * dO[lane + 32];
    for (int w = 16; w > 0; w /= 2) {
        delta += __shfl_xor_sync(0xffffffffu, delta, w);
    }

    float left = 0.0f, right = 0.0f;               // dQ[lane], dQ[lane + 32]
    for (int start = 0; start < Nk; start += 32) {
        const int j = start + lane;                // my key of these 32
        float dS = 0.0f;                           // a key past the end: 0
        if (j < Nk) {
            float dP = 0.0f;
            for (int c = 0; c < d; ++c) dP += dO[c] * V[j * d + c];
            dS = P[j] * (dP - delta);
        }
        // Every lane hears the 32 dS, one after the other.
        for (int k = 0; k < 32 && start + k < Nk; ++k) {
            const float s = __shfl_sync(0xffffffffu, dS, k);
            left += s * K[(start + k) * d + lane];
            right += s * K[(start + k) * d + lane + 32];
        }
    }
    dQ[(head * Nq + row) * d + lane] = scale * left;
    dQ[(head * Nq + row) * d + lane + 32] = scale * right;
}
