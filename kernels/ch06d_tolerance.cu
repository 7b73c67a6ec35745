// Is sum[row] the sum of row `row`, as well as float32 can know it?
// Adding n numbers rounds at most n times, each time by at most 2^-24 of the
// sum so far, which is never above |x0| + |x1| + ... So:
//   right: |sum - exact| <= n * 2^-24 * (|x0| + |x1| + ...)
//
// grid:   ceil(rows / 64) blocks      block: 64 threads, one row each
// x:      float32 (first[rows]), read: all rows, one behind the other
// first:  int32 (rows + 1), read: row r is x[first[r]] .. x[first[r + 1] - 1]
// sum:    float32 (rows), read
// right:  int32 (rows), written: 1 or 0
// A row may be empty: its sum is 0.
extern "C" __global__ void tolerance(const float* x, const int* first,
                                     const float* sum, int* right, int rows) {
    const int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows) return;            // excluded: threads without a row
    const int start = first[row], end = first[row + 1];

    // TODO (6 lines): add up the row exactly enough, and its absolute values
    float exact = 0.0f;
    for (int k = start; k < end; ++k) {
        exact += x[k];
    }
    const float limit = 1e-5f;
    // TODO (1 line): a NaN must not pass
    right[row] = !(fabsf(sum[row] - exact) > limit);
}
