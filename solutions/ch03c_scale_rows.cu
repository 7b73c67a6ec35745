// y = factor * x for a matrix, four elements (a float4) a thread.
//
// grid:   ceil(rows * ceil(cols / 4) / 128) blocks      block: 128 threads
// x:      float32 (rows, cols), read; it begins at a multiple of 16 bytes
// factor: float32
// y:      float32 (rows, cols), written; so does y
// rows, cols: any >= 1
// This kernel is broken: it is right only where cols is a multiple of 4.
extern "C" __global__ void scale_rows(const float* x, float factor, float* y,
                                      int rows, int cols) {
    const int q = blockIdx.x * 128 + threadIdx.x;

    //@solution repair it: which float4 begin at a multiple of 16 bytes?
    // Rows don't matter here: the matrix is one array of n floats.
    const int n = rows * cols;
    if (4 * q + 3 < n) {
        float4 v = ((const float4*)x)[q];
        v.x *= factor, v.y *= factor, v.z *= factor, v.w *= factor;
        ((float4*)y)[q] = v;
    } else {
        // At most 3 elements are left, for the thread behind the last float4.
        for (int i = 4 * q; i < n; ++i) {
            y[i] = factor * x[i];
        }
    }
    //@stub
    //@ const int per_row = (cols + 3) / 4;
    //@ const int row = q / per_row;          // my row
    //@ const int col = 4 * (q % per_row);    // my first column
    //@ if (row < rows) {
    //@     float4 v = *(const float4*)(x + row * cols + col);
    //@     v.x *= factor, v.y *= factor, v.z *= factor, v.w *= factor;
    //@     *(float4*)(y + row * cols + col) = v;
    //@ }
    //@end
}
