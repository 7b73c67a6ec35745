// C = A B with tiles of 32 x 32 that travel as float4: 16 bytes a lane.
//
// grid:   (cols / 32, rows / 32) blocks
// block:  256 threads: each moves a float4 of each tile, and has 4 sums
// A:      float32 (rows, inner), read, 16-byte aligned, as are B and C
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols, inner: multiples of 32
extern "C" __global__ void vector_loads(const float* A, const float* B,
                                        float* C, int rows, int cols,
                                        int inner) {
    __shared__ float4 a[32][8];         // rows of 32 floats = 8 float4
    __shared__ float4 b[32][8];
    const int t = threadIdx.x;          // 0 .. 255
    const int r = t / 8;                // 0 .. 31, my row of C's tile
    const int q = t % 8;                // 0 .. 7, my float4 of that row
    const int row = blockIdx.y * 32 + r;
    const int left = blockIdx.x * 32;   // the tile's first column of C
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

    for (int start = 0; start < inner; start += 32) {
        // TODO (2 lines): each thread moves one float4 of A and one of B
        for (int k = t; k < 32 * 32; k += 256) {
            const int y = k / 32, x = k % 32;
            ((float*)a)[k] = A[(blockIdx.y * 32 + y) * inner + start + x];
            ((float*)b)[k] = B[(start + y) * cols + left + x];
        }
        __syncthreads();  // every a[][] and b[][] of this step is filled

        for (int k = 0; k < 32; ++k) {
            const float f = ((const float*)a[r])[k];
            const float4 v = b[k][q];   // four columns of row k
            sum.x += f * v.x;
            sum.y += f * v.y;
            sum.z += f * v.z;
            sum.w += f * v.w;
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }
    // TODO (1 line): write the four sums with one store
    C[row * cols + left + 4 * q] = sum.x;
    C[row * cols + left + 4 * q + 1] = sum.y;
    C[row * cols + left + 4 * q + 2] = sum.z;
    C[row * cols + left + 4 * q + 3] = sum.w;
}
