// C = A B with every tile fetched once: 32 x 32 elements of C a block, though
// it has only 256 threads. Each has four elements of C, 8 rows apart.
//
// grid:   (cols / 32, rows / 32) blocks
// block:  (32, 8) threads
// A:      float32 (rows, inner), read
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols, inner: multiples of 32
// As handed out, the block does 8 rows of C after another, and fetches B's
// tiles anew for each: the values are right, the bytes are not.
extern "C" __global__ void fewer_bytes(const float* A, const float* B,
                                       float* C, int rows, int cols,
                                       int inner) {
    __shared__ float a[32][32];
    __shared__ float b[32][32];
    const int x = threadIdx.x;          // 0 .. 31, the lane
    const int y = threadIdx.y;          // 0 .. 7, the warp
    const int top = blockIdx.y * 32;    // first row of the block's part of C
    const int col = blockIdx.x * 32 + x;

    //@solution fetch each tile of B once a block: four sums a thread
    float sum[4] = {};                  // rows top + y, + 8, + 16, + 24
    for (int start = 0; start < inner; start += 32) {
        for (int i = 0; i < 4; ++i) {
            const int r = y + 8 * i;    // 0 .. 31
            a[r][x] = A[(top + r) * inner + start + x];
            b[r][x] = B[(start + r) * cols + col];
        }
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 32; ++k) {
            for (int i = 0; i < 4; ++i) {
                sum[i] += a[y + 8 * i][k] * b[k][x];
            }
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }
    for (int i = 0; i < 4; ++i) {
        C[(top + y + 8 * i) * cols + col] = sum[i];
    }
    //@stub
    //@ for (int piece = 0; piece < 32; piece += 8) {
    //@     const int row = top + piece + y;
    //@     float sum = 0.0f;
    //@     for (int start = 0; start < inner; start += 32) {
    //@         a[y][x] = A[row * inner + start + x];
    //@         for (int r = y; r < 32; r += 8) {
    //@             b[r][x] = B[(start + r) * cols + col];
    //@         }
    //@         __syncthreads();
    //@
    //@         for (int k = 0; k < 32; ++k) {
    //@             sum += a[y][k] * b[k][x];
    //@         }
    //@         __syncthreads();
    //@     }
    //@     C[row * cols + col] = sum;
    //@ }
    //@end
}
