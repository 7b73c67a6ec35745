// dS = gradient of the scores, written straight down: each row of dP times
// the Jacobian of its softmax, J[j][k] = P[j] * ((j == k) - P[k]).
//
// grid:  (ceil(keys / 64), rows)       block: 64 threads, one an element of dS
// P:     float32 (rows, keys), read: each row a softmax, or 0 throughout
// dP:    float32 (rows, keys), read: gradient of P
// dS:    float32 (rows, keys), written
extern "C" __global__ void jacobian(const float* P, const float* dP, float* dS,
                                    int keys) {
    const int j = blockIdx.x * 64 + threadIdx.x;  // my score
    const size_t row = blockIdx.y;

    // Excluded: threads past the last key.
    if (j >= keys) return;
    P += row * keys;                              // now at my row
    dP += row * keys;

    // J is never stored: row j of it is made while it is used.
    const float mine = P[j];
    float sum = 0.0f;
    for (int k = 0; k < keys; ++k) {
        const float J = mine * ((j == k ? 1.0f : 0.0f) - P[k]);
        sum += J * dP[k];
    }
    dS[row * keys + j] = sum;
}
