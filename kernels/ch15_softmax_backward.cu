// dS = P * (dP - delta) with delta = sum of P * dP of the row: the gradient of
// the scores, a warp a row.
//
// grid:  ceil(rows / 4) blocks         block: 128 threads: one warp a row
// P:     float32 (rows, keys), read twice: each row a softmax, or 0 throughout
// dP:    float32 (rows, keys), read twice: gradient of P
// dS:    float32 (rows, keys), written
extern "C" __global__ void softmax_backward(const float* P, const float* dP,
                                            float* dS, int rows, int keys) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last row; a whole warp leaves together.
    if (row >= rows) return;
    P += (size_t)row * keys;             // now at my row
    dP += (size_t)row * keys;
    dS += (size_t)row * keys;

    // Pass 1: the one number that all scores of a row share.
    float delta = 0.0f;
    for (int k = lane; k < keys; k += 32) delta += P[k] * dP[k];
    for (int w = 16; w > 0; w /= 2) {
        delta += __shfl_xor_sync(0xffffffffu, delta, w);
    }

    // Pass 2. Where P is 0 (a masked key, a masked row) dS is 0, too.
    for (int j = lane; j < keys; j += 32) dS[j] = P[j] * (dP[j] - delta);
}
