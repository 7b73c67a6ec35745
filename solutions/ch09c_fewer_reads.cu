// O = P V with the same multiplications and fewer bytes: a thread owns one
// column of four output rows.
//
// grid:  (ceil(Nq / 4), heads)      block: 64 threads: one a column
// P:     float32 (heads, Nq, Nk), read: weights, each row sums to 1
// V:     float32 (heads, Nk, 64), read
// O:     float32 (heads, Nq, 64), written
extern "C" __global__ void fewer_reads(const float* P, const float* V, float* O,
                                       int Nq, int Nk) {
    constexpr int d = 64;
    const int col = threadIdx.x;            // 0 .. 63
    const int first = blockIdx.x * 4;       // my block's first query
    const int left = min(4, Nq - first);    // 1 .. 4 queries are left
    const size_t head = blockIdx.y;
    P += (head * Nq + first) * Nk;          // now at that query's weights
    V += head * Nk * d + col;               // my column, first key

    float acc[4] = {};
    //@solution fetch each V[j][col] once for all four rows
    for (int j = 0; j < Nk; ++j) {
        const float v = V[(size_t)j * d];
        for (int r = 0; r < 4; ++r) {
            // Excluded: rows past the last query.
            if (r < left) acc[r] += P[(size_t)r * Nk + j] * v;
        }
    }
    //@stub
    //@ for (int r = 0; r < 4; ++r) {
    //@     for (int j = 0; j < Nk; ++j) {
    //@         // Excluded: rows past the last query.
    //@         if (r < left) {
    //@             acc[r] += P[(size_t)r * Nk + j] * V[(size_t)j * d];
    //@         }
    //@     }
    //@ }
    //@end

    for (int r = 0; r < 4; ++r) {
        if (r < left) O[(head * Nq + first + r) * d + col] = acc[r];
    }
}
