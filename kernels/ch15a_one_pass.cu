// dS = P * (dP - delta) with one look at P and dP: delta comes from the row's
// output and its gradient, delta = O . dO. A warp a row.
//
// grid:  (ceil(Nq / 4), heads)         block: 128 threads: one warp a row
// P, dP: float32 (heads, Nq, Nk), read once
// O, dO: float32 (heads, Nq, 64), read
// delta: float32 (heads, Nq), written
// dS:    float32 (heads, Nq, Nk), written
// Nq, Nk: any >= 1. A row of P may be 0 throughout, its O is then 0, too.
extern "C" __global__ void one_pass(const float* P, const float* dP,
                                    const float* O, const float* dO,
                                    float* delta, float* dS, int Nq, int Nk) {
    constexpr int d = 64;
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last query; a whole warp leaves together.
    if (row >= Nq) return;
    const size_t r = (size_t)blockIdx.y * Nq + row;  // my row, of all heads

    // TODO (6 lines): the row's sum of O * dO, in all 32 lanes; lane 0 stores
    //   it
    const float sum = 0.0f;
    if (lane == 0) delta[r] = sum;

    // TODO (3 lines): dS of my keys lane, lane + 32, ..: one load of P, one of
    //   dP
    for (int j = lane; j < Nk; j += 32) {
        dS[r * Nk + j] = P[r * Nk + j] * dP[r * Nk + j];
    }
}
