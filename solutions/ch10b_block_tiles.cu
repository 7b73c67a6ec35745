// P = softmax of each row of S, and LSE: a block a row, 128 keys (a tile) at
// a time. Each score is read twice: once for m and l, once for P.
//
// grid:  rows blocks      block: 128 threads = 4 warps
// shared: 4 maxima and 4 sums, one of each a warp
// S:     float32 (rows, keys), read twice; any finite numbers
// P:     float32 (rows, keys), written
// LSE:   float32 (rows), written
// trace: null, or float32 (rows, ceil(keys / 128), 2): m, l after each tile
// keys:  any >= 1
#include <math_constants.h>

extern "C" __global__ void block_tiles(const float* S, float* P, float* LSE,
                                       int keys, float* trace) {
    __shared__ float tops[4], sums[4];          // one place a warp
    const int t = threadIdx.x;                  // 0 .. 127
    const int lane = t % 32, warp = t / 32;     // 0 .. 31, 0 .. 3
    const int row = blockIdx.x;
    const int tiles = (keys + 127) / 128;
    S += (size_t)row * keys;                    // now at my block's row
    P += (size_t)row * keys;

    float m = -CUDART_INF_F, l = 0.0f;  // all 128 threads hold the same two
    for (int tile = 0; tile < tiles; ++tile) {
        const int j = tile * 128 + t;
        // A key past the end counts as -infinity: exp makes it 0.
        const float s = j < keys ? S[j] : -CUDART_INF_F;

        //@solution m_new for the whole block: the largest of m and 128 scores
        float m_new = fmaxf(m, s);
        for (int w = 16; w > 0; w /= 2) {
            m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
        }
        if (lane == 0) tops[warp] = m_new;
        __syncthreads();  // tops[] holds the maxima of the 4 warps
        for (int w = 0; w < 4; ++w) m_new = fmaxf(m_new, tops[w]);
        //@stub
        //@ const float m_new = fmaxf(m, s);
        //@end

        //@solution the tile's sum of exp(s - m_new), joined to l
        float part = expf(s - m_new);
        for (int w = 16; w > 0; w /= 2) {
            part += __shfl_xor_sync(0xffffffffu, part, w);
        }
        if (lane == 0) sums[warp] = part;
        __syncthreads();  // sums[] holds 4 sums, and all have read tops[]
        l = l * expf(m - m_new) + (sums[0] + sums[1] + sums[2] + sums[3]);
        //@stub
        //@ l += expf(s - m_new);
        //@end
        m = m_new;

        if (trace != nullptr && t == 0) {
            trace[((size_t)row * tiles + tile) * 2] = m;
            trace[((size_t)row * tiles + tile) * 2 + 1] = l;
        }
    }

    // The second read: now m and l are those of the whole row.
    for (int j = t; j < keys; j += 128) P[j] = expf(S[j] - m) / l;
    if (t == 0) LSE[row] = m + logf(l);
}
