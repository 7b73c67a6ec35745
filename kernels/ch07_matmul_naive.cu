// C = A B, one thread an element of C, straight from global memory.
//
// grid:  (ceil(cols / 32), ceil(rows / 8)) blocks
// block: (32, 8) threads: a warp has 32 neighbours of one row of C
// A:     float32 (rows, inner), read
// B:     float32 (inner, cols), read
// C:     float32 (rows, cols), written
extern "C" __global__ void matmul_naive(const float* A, const float* B,
                                        float* C, int rows, int cols,
                                        int inner) {
    const int col = blockIdx.x * 32 + threadIdx.x;  // 0 .. cols - 1, or past
    const int row = blockIdx.y * 8 + threadIdx.y;   // 0 .. rows - 1, or past

    // Excluded: threads past the edges of C; no barrier follows.
    if (row >= rows || col >= cols) return;

    float sum = 0.0f;
    for (int k = 0; k < inner; ++k) {
        // The lanes share one element of A, and read 32 neighbours of B.
        sum += A[row * inner + k] * B[k * cols + col];
    }
    C[row * cols + col] = sum;
}
