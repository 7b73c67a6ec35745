// C = A B for any shape, each thread with 4 x 4 elements of C.
//
// grid:   (ceil(cols / 64), ceil(rows / 64)) blocks
// block:  256 threads, as 16 x 16; together 64 x 64 elements of C
// A:      float32 (rows, inner), read
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols, inner: any >= 1
// This kernel is broken: it is right where rows and cols are multiples of 4.
extern "C" __global__ void edge_block(const float* A, const float* B, float* C,
                                      int rows, int cols, int inner) {
    __shared__ float a[8][65];              // a[k][r]: A's piece, transposed
    __shared__ float b[8][64];              // b[k][c]
    const int t = threadIdx.x;              // 0 .. 255
    const int x = 4 * (t % 16);             // my columns x .. x + 3 of 64
    const int y = 4 * (t / 16);             // my rows y .. y + 3 of 64
    const int top = blockIdx.y * 64;        // the block's first row of C
    const int left = blockIdx.x * 64;       // the block's first column of C
    float sum[4][4] = {};

    for (int start = 0; start < inner; start += 8) {
        // 512 places of each piece, two a thread; 0 where there is no element.
        for (int p = t; p < 512; p += 256) {
            const int r = top + p / 8, ka = start + p % 8;
            const int kb = start + p / 64, c = left + p % 64;
            a[p % 8][p / 8] =
                r < rows && ka < inner ? A[r * inner + ka] : 0.0f;
            b[p / 64][p % 64] =
                kb < inner && c < cols ? B[kb * cols + c] : 0.0f;
        }
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 8; ++k) {
            for (int i = 0; i < 4; ++i) {
                for (int j = 0; j < 4; ++j) {
                    sum[i][j] += a[k][y + i] * b[k][x + j];
                }
            }
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }

    // TODO (8 lines): repair this part: which of my 16 elements are there?
    float* mine = C + (top + y) * cols + left + x;
    if (top + y < rows && left + x < cols) {
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) {
                mine[i * cols + j] = sum[i][j];
            }
        }
    }
}
