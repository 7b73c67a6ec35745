// For each row of whole exponents: the largest one, and the sum of 2^(x - it),
// reading each exponent once. The verdict allows no error at all.
//
// grid:  ceil(rows / 64) blocks      block: 64 threads: one a row
// X:     int32 (keys, rows), read once: neighbouring rows are neighbours
// top:   int32 (rows), written: the largest exponent
// sum:   float32 (rows), written
// trace: null, or float32 (rows, keys, 2): m and l after each key
// keys:  1 .. 200; exponents of a row at most 16 apart
// ldexpf(a, n) is a * 2^n, without rounding as long as the result fits.
extern "C" __global__ void exact_powers(const int* X, int* top, float* sum,
                                        int rows, int keys, float* trace) {
    const int row = blockIdx.x * 64 + threadIdx.x;

    // Excluded: threads past the last row.
    if (row >= rows) return;

    int m = X[row];             // an int has no -infinity: key 0's exponent,
    float l = 1.0f;             // and the sum of key 0 alone
    if (trace != nullptr) {
        trace[(size_t)row * keys * 2] = (float)m;
        trace[(size_t)row * keys * 2 + 1] = l;
    }
    for (int j = 1; j < keys; ++j) {
        const int x = X[(size_t)j * rows + row];
        // TODO (3 lines): let exponent x join the state, without rounding
        m = max(m, x);
        l += ldexpf(1.0f, x - m);

        if (trace != nullptr) {
            trace[((size_t)row * keys + j) * 2] = (float)m;
            trace[((size_t)row * keys + j) * 2 + 1] = l;
        }
    }
    top[row] = m;
    sum[row] = l;
}
