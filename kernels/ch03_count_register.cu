// count[b][i] = how many of column i of x are b, for b = 0 .. 7.
//
// grid:  n / 128 blocks      block: 128 threads, one a column
// x:     int32 (rows, n), read; all between 0 and 7
// count: int32 (8, n), written
// rows:  any >= 0
extern "C" __global__ void count_register(const int* x, int* count, int rows,
                                          int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;  // my column
    int mine[8];

    for (int b = 0; b < 8; ++b) mine[b] = 0;
    for (int row = 0; row < rows; ++row) {
        const int v = x[row * n + i];
        // Every place is named in the text once the loop is unrolled.
        for (int b = 0; b < 8; ++b) mine[b] += v == b;
    }
    for (int b = 0; b < 8; ++b) count[b * n + i] = mine[b];
}
