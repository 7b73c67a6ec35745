// LSE of each row: every lane carries a state of its own over every 32nd key,
// without asking anybody; then a tree of 5 stages joins the 32 states.
//
// grid:  ceil(rows / 4)      block: 128 threads: one warp a row
// S:     float32 (rows, keys), read once; finite scores
// LSE:   float32 (rows), written
// trace: null, or float32 (rows, 32, 6, 2): m and l of each lane after its own
//        keys (stage 1), and after each of the 5 joins (stages 2 .. 6)
// keys:  any >= 1; with fewer than 32, some lanes have none
#include <math_constants.h>

// Stores a lane's state after one stage, if there is a trace (given, below).
__device__ void tell(float* trace, int row, int stage, float m, float l);

extern "C" __global__ void tree_merge(const float* S, float* LSE, int rows,
                                      int keys, float* trace) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;

    // Excluded: warps past the last row; a whole warp leaves together.
    if (row >= rows) return;
    S += (size_t)row * keys;            // now at my row's first score

    float m = -CUDART_INF_F, l = 0.0f;  // of my own keys: none so far
    for (int j = lane; j < keys; j += 32) {
        const float m_new = fmaxf(m, S[j]);
        l = l * expf(m - m_new) + expf(S[j] - m_new);
        m = m_new;
    }
    tell(trace, row, 0, m, l);

    int stage = 1;
    for (int w = 16; w > 0; w /= 2) {
        // TODO (7 lines): join my state with that of lane ^ w; both may be
        //   empty
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));
        l += __shfl_xor_sync(0xffffffffu, l, w);
        tell(trace, row, stage, m, l);
        ++stage;
    }
    // Now all 32 lanes hold the state of the whole row.
    if (lane == 0) LSE[row] = m + logf(l);
}

__device__ void tell(float* trace, int row, int stage, float m, float l) {
    if (trace == nullptr) return;
    const int lane = threadIdx.x % 32;
    float* place = trace + (((size_t)row * 32 + lane) * 6 + stage) * 2;
    place[0] = m;
    place[1] = l;
}
