// O = P V: attention's second matrix product, one thread an output element.
//
// grid:  (ceil(Nq / 4), heads)      block: (64, 4) threads
// P:     float32 (heads, Nq, Nk), read: the softmax of the scores
// V:     float32 (heads, Nk, 64), read
// O:     float32 (heads, Nq, 64), written
extern "C" __global__ void values(const float* P, const float* V, float* O,
                                  int Nq, int Nk) {
    constexpr int d = 64;
    const int col = threadIdx.x;                   // 0 .. 63, column of V
    const int row = blockIdx.x * 4 + threadIdx.y;  // the query
    const size_t head = blockIdx.y;

    // Excluded: threads past the last query.
    if (row >= Nq) return;

    const float* p = P + (head * Nq + row) * Nk;   // my query's weights
    const float* v = V + head * Nk * d + col;      // my column, first key
    float acc = 0.0f;
    for (int j = 0; j < Nk; ++j) {
        acc += p[j] * v[(size_t)j * d];            // the lanes share p[j]
    }
    O[(head * Nq + row) * d + col] = acc;
}
