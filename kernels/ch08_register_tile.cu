// C = A B: each thread keeps 8 x 8 elements of C in registers, so that 16
// floats out of shared memory serve 64 multiply-adds.
//
// grid:   (cols / 128, rows / 128) blocks
// block:  256 threads, as 16 x 16; together 128 x 128 elements of C
// A:      float32 (rows, inner), read, 16-byte aligned, as are B and C
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols: multiples of 128; inner: a multiple of 8
extern "C" __global__ void __launch_bounds__(256)
register_tile(const float* A, const float* B, float* C, int rows, int cols,
              int inner) {
    // a holds its piece of A transposed: column k of A is row k here.
    // 132: the lanes that store one float4 of A hit different banks.
    __shared__ float a[8][132];
    __shared__ float b[8][128];
    const int t = threadIdx.x;              // 0 .. 255
    const int x = 4 * (t % 16);             // my columns: x .. x + 3 and
    const int y = 4 * (t / 16);             // x + 64 .. x + 67; rows: like y
    const int top = blockIdx.y * 128;       // the block's first row of C
    const int left = blockIdx.x * 128;      // the block's first column of C
    float sum[8][8] = {};

    for (int start = 0; start < inner; start += 8) {
        // 256 float4 of A (two a row) and of B (32 a row): one each a thread.
        const float4 v =
            *(const float4*)(A + (top + t / 2) * inner + start + 4 * (t % 2));
        a[4 * (t % 2)][t / 2] = v.x;
        a[4 * (t % 2) + 1][t / 2] = v.y;
        a[4 * (t % 2) + 2][t / 2] = v.z;
        a[4 * (t % 2) + 3][t / 2] = v.w;
        *(float4*)&b[t / 32][4 * (t % 32)] =
            *(const float4*)(B + (start + t / 32) * cols + left + 4 * (t % 32));
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 8; ++k) {
            // 8 floats of A's column k, 8 of B's row k: four loads.
            const float4 r0 = *(const float4*)&a[k][y];
            const float4 r1 = *(const float4*)&a[k][y + 64];
            const float4 c0 = *(const float4*)&b[k][x];
            const float4 c1 = *(const float4*)&b[k][x + 64];
            const float r[8] = {r0.x, r0.y, r0.z, r0.w, r1.x, r1.y, r1.z, r1.w};
            const float c[8] = {c0.x, c0.y, c0.z, c0.w, c1.x, c1.y, c1.z, c1.w};
            for (int i = 0; i < 8; ++i) {
                for (int j = 0; j < 8; ++j) {
                    sum[i][j] += r[i] * c[j];
                }
            }
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }

    for (int i = 0; i < 8; ++i) {
        // Row y + i, then y + 64 + (i - 4); two float4 of it.
        float* p = C + (top + y + i + (i < 4 ? 0 : 60)) * cols + left + x;
        *(float4*)p = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4*)(p + 64) =
            make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
