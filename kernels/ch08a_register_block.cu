// C = A B: each thread keeps 4 x 4 elements of C in registers.
//
// grid:   (cols / 64, rows / 64) blocks
// block:  256 threads, as 16 x 16; together 64 x 64 elements of C
// A:      float32 (rows, inner), read, 16-byte aligned, as are B and C
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols: multiples of 64; inner: a multiple of 16
extern "C" __global__ void register_block(const float* A, const float* B,
                                          float* C, int rows, int cols,
                                          int inner) {
    __shared__ float a[16][68];             // a[k][r]: A's piece, transposed
    __shared__ float b[16][64];             // b[k][c]
    const int t = threadIdx.x;              // 0 .. 255
    const int x = 4 * (t % 16);             // my columns x .. x + 3 of 64
    const int y = 4 * (t / 16);             // my rows y .. y + 3 of 64
    const int top = blockIdx.y * 64;        // the block's first row of C
    const int left = blockIdx.x * 64;       // the block's first column of C
    float sum[4][4] = {};

    for (int start = 0; start < inner; start += 16) {
        // Each piece is 64 x 16 floats = 256 float4: one a thread.
        const int r = t / 4, q = 4 * (t % 4);
        const float4 v =
            *(const float4*)(A + (top + r) * inner + start + q);
        a[q][r] = v.x;
        a[q + 1][r] = v.y;
        a[q + 2][r] = v.z;
        a[q + 3][r] = v.w;
        *(float4*)&b[t / 16][x] =
            *(const float4*)(B + (start + t / 16) * cols + left + x);
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 16; ++k) {
            // TODO (9 lines): two float4 out of shared memory serve 16 products
            sum[0][0] += a[k][y] * b[k][x];
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }

    // TODO (4 lines): write four rows of four floats
    C[(top + y) * cols + left + x] = sum[0][0];
}
