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
            //@solution two float4 out of shared memory serve 16 products
            const float4 r4 = *(const float4*)&a[k][y];
            const float4 c4 = *(const float4*)&b[k][x];
            const float mine[4] = {r4.x, r4.y, r4.z, r4.w};
            for (int i = 0; i < 4; ++i) {
                sum[i][0] += mine[i] * c4.x;
                sum[i][1] += mine[i] * c4.y;
                sum[i][2] += mine[i] * c4.z;
                sum[i][3] += mine[i] * c4.w;
            }
            //@stub
            //@ sum[0][0] += a[k][y] * b[k][x];
            //@end
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }

    //@solution write four rows of four floats
    for (int i = 0; i < 4; ++i) {
        *(float4*)(C + (top + y + i) * cols + left + x) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
    //@stub
    //@ C[(top + y) * cols + left + x] = sum[0][0];
    //@end
}
