// C = A B through tiles, for any shape: the last tiles hang over the edges.
//
// grid:   (ceil(cols / 16), ceil(rows / 16)) blocks
// block:  (16, 16) threads, one element of C each
// A:      float32 (rows, inner), read
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols, inner: any >= 1
// This kernel is broken: it is right where every size is a multiple of 16.
extern "C" __global__ void ragged_tiles(const float* A, const float* B,
                                        float* C, int rows, int cols,
                                        int inner) {
    __shared__ float a[16][16];
    __shared__ float b[16][16];
    const int x = threadIdx.x;              // 0 .. 15
    const int y = threadIdx.y;              // 0 .. 15
    const int col = blockIdx.x * 16 + x;    // 0 .. cols - 1, or past
    const int row = blockIdx.y * 16 + y;    // 0 .. rows - 1, or past
    // TODO (1 line): repair this part: who is needed, although it has no
    //   element?
    if (row >= rows || col >= cols) return;
    float sum = 0.0f;

    for (int start = 0; start < inner; start += 16) {
        // TODO (4 lines): repair this part: what belongs into places past an
        //   edge?
        a[y][x] = A[row * inner + start + x];
        b[y][x] = B[(start + y) * cols + col];
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 16; ++k) {
            sum += a[y][k] * b[k][x];
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }

    // TODO (3 lines): repair this part: who has an element to write?
    C[row * cols + col] = sum;
}
