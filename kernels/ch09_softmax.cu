// Each row of S becomes its softmax, in place: exp(s - max) / sum of those.
//
// grid:  (ceil(Nq / 4), heads)      block: 128 threads: one warp a row
// S:     float32 (heads, Nq, Nk), read three times, written once
extern "C" __global__ void softmax(float* S, int Nq, int Nk) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last row. A whole warp leaves together, so
    // the shuffles below still find all their lanes.
    if (row >= Nq) return;
    float* s = S + ((size_t)blockIdx.y * Nq + row) * Nk;  // my row

    // Pass 1: the largest score, first of my keys, then of the warp.
    float m = -3.402823466e38f;  // the most negative float
    for (int j = lane; j < Nk; j += 32) m = fmaxf(m, s[j]);
    for (int w = 16; w > 0; w /= 2) {
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));
    }

    // Pass 2: the sum of exp(s - m). The largest term is 1: no overflow.
    float l = 0.0f;
    for (int j = lane; j < Nk; j += 32) l += expf(s[j] - m);
    for (int w = 16; w > 0; w /= 2) {
        l += __shfl_xor_sync(0xffffffffu, l, w);
    }

    // Pass 3: each lane rewrites the elements that it alone reads.
    for (int j = lane; j < Nk; j += 32) s[j] = expf(s[j] - m) / l;
}
