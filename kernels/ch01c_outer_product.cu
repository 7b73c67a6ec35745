// out[row][col] = a[row] * b[col]: a table of all products.
//
// grid:  (ceil(width / 32), ceil(height / 8)) blocks
// block: (32, 8) threads: x runs along a row, y runs down the rows
// a:     float32 (height), read
// b:     float32 (width), read
// out:   float32 (height, width), written; one row after the other in memory
// height, width: any >= 1, not multiples of anything, not equal
extern "C" __global__ void outer_product(const float* a, const float* b,
                                         float* out, int height, int width) {
    // TODO (2 lines): name your col (from .x) and row (from .y)
    const int col = 0;
    const int row = 0;

    // TODO (3 lines): guard both directions, then write out[row][col]
    out[0] = a[row] * b[col];
}
