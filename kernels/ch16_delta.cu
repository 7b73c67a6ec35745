// delta = dO . O of each row: the one number that the gradient of the scores
// needs beside P and dP. A warp a row.
//
// grid:  ceil(rows / 4) blocks         block: 128 threads: one warp a row
// O, dO: float32 (rows, 64), read      rows = batch * heads * Nq
// delta: float32 (rows), written
extern "C" __global__ void delta(const float2* O, const float2* dO,
                                 float* delta, int rows) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last row; a whole warp leaves together.
    if (row >= rows) return;

    // Columns 2 * lane and 2 * lane + 1 of my row.
    const float2 o = O[(size_t)row * 32 + lane];
    const float2 g = dO[(size_t)row * 32 + lane];
    float sum = o.x * g.x + o.y * g.y;
    for (int w = 16; w > 0; w /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, w);
    }
    if (lane == 0) delta[row] = sum;
}
