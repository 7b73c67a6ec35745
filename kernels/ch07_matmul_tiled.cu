// C = A B through tiles of shared memory: what a block fetches, T rows and T
// columns of its threads use.
//
// grid:   (cols / T, rows / T) blocks
// block:  (T, T) threads, one element of C each
// shared: two tiles of T x T floats
// A:      float32 (rows, inner), read
// B:      float32 (inner, cols), read
// C:      float32 (rows, cols), written
// rows, cols, inner: multiples of T (exercise b drops this assumption)
constexpr int T = 32;

extern "C" __global__ void __launch_bounds__(1024)
matmul_tiled(const float* A, const float* B, float* C, int rows, int cols,
             int inner) {
    __shared__ float a[T][T];           // columns start .. of my rows of A
    __shared__ float b[T][T];           // rows start .. of my columns of B
    const int x = threadIdx.x;          // 0 .. T - 1
    const int y = threadIdx.y;          // 0 .. T - 1
    const int col = blockIdx.x * T + x; // my element of C
    const int row = blockIdx.y * T + y;
    float sum = 0.0f;

    // The two tiles walk along `inner`: A's to the right, B's downwards.
    for (int start = 0; start < inner; start += T) {
        a[y][x] = A[row * inner + start + x];
        b[y][x] = B[(start + y) * cols + col];
        __syncthreads();  // every a[][] and b[][] of this step is filled

        // T multiply-adds for the two elements that I fetched.
        for (int k = 0; k < T; ++k) {
            sum += a[y][k] * b[k][x];
        }
        __syncthreads();  // every thread is done with a[][], b[][]: refill
    }
    C[row * cols + col] = sum;
}
