// G = scale * W^T X, one thread an element: a key collects from all queries.
// W = P, X = dO, scale = 1 gives dV; W = dS, X = Q gives dK.
//
// grid:  (ceil(Nk / 4), heads)         block: (64, 4) threads
// W:     float32 (heads, Nq, Nk), read
// X:     float32 (heads, Nq, 64), read
// G:     float32 (heads, Nk, 64), written
extern "C" __global__ void key_gradient(const float* W, const float* X,
                                        float* G, int Nq, int Nk, float scale) {
    constexpr int d = 64;
    const int col = threadIdx.x;                   // 0 .. 63, column of X
    const int key = blockIdx.x * 4 + threadIdx.y;
    const size_t head = blockIdx.y;

    // Excluded: threads past the last key.
    if (key >= Nk) return;
    const float* w = W + head * Nq * Nk + key;     // down my key's column
    const float* x = X + head * Nq * d + col;      // down my column of X
    float sum = 0.0f;
    for (int i = 0; i < Nq; ++i) {
        sum += w[(size_t)i * Nk] * x[i * d];       // the lanes share w[i * Nk]
    }
    G[(head * Nk + key) * d + col] = scale * sum;
}
