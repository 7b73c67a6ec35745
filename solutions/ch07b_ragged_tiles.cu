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
    //@solution repair this part: who is needed, although it has no element?
    // Nobody leaves: also a thread past C's edges fills its place of a tile.
    const bool mine = row < rows && col < cols;     // do I have an element?
    //@stub
    //@ if (row >= rows || col >= cols) return;
    //@end
    float sum = 0.0f;

    for (int start = 0; start < inner; start += 16) {
        //@solution repair this part: what belongs into places past an edge?
        const bool in_a = row < rows && start + x < inner;
        const bool in_b = start + y < inner && col < cols;
        a[y][x] = in_a ? A[row * inner + start + x] : 0.0f;
        b[y][x] = in_b ? B[(start + y) * cols + col] : 0.0f;
        //@stub
        //@ a[y][x] = A[row * inner + start + x];
        //@ b[y][x] = B[(start + y) * cols + col];
        //@end
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 16; ++k) {
            sum += a[y][k] * b[k][x];
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }

    //@solution repair this part: who has an element to write?
    // Excluded: threads past the edges of C.
    if (mine) {
        C[row * cols + col] = sum;
    }
    //@stub
    //@ C[row * cols + col] = sum;
    //@end
}
