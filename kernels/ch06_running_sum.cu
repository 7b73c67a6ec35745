// sum[row] = the sum of row `row`, added up in float32 from left to right.
//
// grid:   ceil(rows / 32) blocks      block: 32 threads, one row each
// x:      float32 (n, rows), read: a row of the sum runs down a column of x
// sum:    float32 (rows), written
extern "C" __global__ void running_sum(const float* x, float* sum, int rows,
                                       int n) {
    const int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows) return;            // excluded: threads without a row
    float s = 0.0f;
    for (int k = 0; k < n; ++k) {
        s += x[k * rows + row];         // rounded after each addition
    }
    sum[row] = s;
}
