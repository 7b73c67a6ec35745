// dV = P^T dO and dK = scale * dS^T Q where `group` query heads share a key
// head (GQA): a key collects from all queries of all heads that looked at it.
//
// grid:  (ceil(Nk / 4), key heads)     block: (64, 4) threads
// P, dS: float32 (key heads * group, Nq, Nk), read; query heads kv * group,
//        kv * group + 1, .. share key head kv
// Q, dO: float32 (key heads * group, Nq, 64), read
// dK, dV: float32 (key heads, Nk, 64), written
extern "C" __global__ void shared_heads(const float* P, const float* dS,
                                        const float* Q, const float* dO,
                                        float* dK, float* dV, int Nq, int Nk,
                                        int group, float scale) {
    constexpr int d = 64;
    const int col = threadIdx.x;                   // 0 .. 63
    const int key = blockIdx.x * 4 + threadIdx.y;
    const size_t kv = blockIdx.y;                  // the key head

    // Excluded: threads past the last key.
    if (key >= Nk) return;

    float k_sum = 0.0f, v_sum = 0.0f;
    //@solution add up over the group's heads and, for each, over all queries
    for (int g = 0; g < group; ++g) {
        const size_t head = kv * group + g;        // one of my query heads
        for (int i = 0; i < Nq; ++i) {
            const size_t row = head * Nq + i;      // a query of it
            v_sum += P[row * Nk + key] * dO[row * d + col];
            k_sum += dS[row * Nk + key] * Q[row * d + col];
        }
    }
    //@stub
    //@ for (int i = 0; i < Nq; ++i) {
    //@     const size_t row = kv * Nq + i;
    //@     v_sum += dO[row * d + col] * P[row * Nk + key];
    //@     k_sum += Q[row * d + col] * dS[row * Nk + key];
    //@ }
    //@end

    dV[(kv * Nk + key) * d + col] = v_sum;
    //@solution write dK
    dK[(kv * Nk + key) * d + col] = scale * k_sum;
    //@stub
    //@ dK[(kv * Nk + key) * d + col] = k_sum;
    //@end
}
