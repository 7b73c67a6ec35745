// C = A B^T through tiles: C[row][col] = row `row` of A times row `col` of B.
// (Attention's scores are such a product, of queries and keys.)
//
// grid:   (cols / 32, rows / 32) blocks
// block:  (32, 32) threads, one element of C each
// A:      float32 (rows, inner), read
// B:      float32 (cols, inner), read: its rows lie along `inner`, too
// C:      float32 (rows, cols), written
// rows, cols, inner: multiples of 32
extern "C" __global__ void __launch_bounds__(1024)
transposed_b(const float* A, const float* B, float* C, int rows, int cols,
             int inner) {
    //@solution two tiles of 32 x 32; which of them is read down a column?
    __shared__ float a[32][32];
    __shared__ float b[32][33];         // 33: its columns use all 32 banks
    //@stub
    //@ __shared__ float a[32][32];
    //@ __shared__ float b[32][32];
    //@end
    const int x = threadIdx.x;          // 0 .. 31, the lane
    const int y = threadIdx.y;          // 0 .. 31, the warp
    const int top = blockIdx.y * 32;    // first row of C, and of A
    const int left = blockIdx.x * 32;   // first column of C, and row of B
    float sum = 0.0f;

    for (int start = 0; start < inner; start += 32) {
        //@solution fill both tiles, lanes along `inner`; then wait
        a[y][x] = A[(top + y) * inner + start + x];
        b[y][x] = B[(left + y) * inner + start + x];
        __syncthreads();  // every a[][] and b[][] of this step is filled
        //@stub
        //@ a[y][x] = 0.0f;
        //@ b[y][x] = 0.0f;
        //@ __syncthreads();
        //@end

        //@solution add the 32 products of my row of A and my row of B; wait
        for (int k = 0; k < 32; ++k) {
            sum += a[y][k] * b[x][k];
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
        //@stub
        //@ sum += a[y][x] * b[x][y];
        //@ __syncthreads();
        //@end
    }
    C[(top + y) * cols + left + x] = sum;
}
