// O and LSE of each row, by four warps that share its keys: each takes a
// quarter of them, then the four states become one.
//
// grid:   rows      block: 128 threads = 4 warps; a lane is a key of a tile,
//         and a column of V
// shared: m, l and acc of each warp
// S:      float32 (rows, keys), read once; finite scores
// V:      float32 (keys, 32), read once a row
// O:      float32 (rows, 32), written      LSE: float32 (rows), written
// keys:   any >= 1; with fewer than 4, some warps have none
#include <math_constants.h>

extern "C" __global__ void split_keys(const float* S, const float* V, float* O,
                                      float* LSE, int keys) {
    __shared__ float ms[4], ls[4], accs[4][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t row = blockIdx.x;
    const int size = (keys + 3) / 4;            // keys of a warp
    const int begin = warp * size, end = min(keys, begin + size);

    // As in ch11_part; a warp without keys keeps (-infinity, 0, 0).
    float m = -CUDART_INF_F, l = 0.0f, acc = 0.0f;
    for (int start = begin; start < end; start += 32) {
        const int j = start + lane;
        const float s = j < end ? S[row * keys + j] : -CUDART_INF_F;
        float m_new = fmaxf(m, s);
        for (int w = 16; w > 0; w /= 2) {
            m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
        }
        const float p = expf(s - m_new), fade = expf(m - m_new);
        float l_tile = p;
        for (int w = 16; w > 0; w /= 2) {
            l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
        }
        l = l * fade + l_tile;
        acc *= fade;
        for (int k = 0; k < min(32, end - start); ++k) {
            const float weight = __shfl_sync(0xffffffffu, p, k);
            acc += weight * V[(size_t)(start + k) * 32 + lane];
        }
        m = m_new;
    }

    //@solution let warp 0 see the four states
    if (lane == 0) {
        ms[warp] = m;
        ls[warp] = l;
    }
    accs[warp][lane] = acc;
    __syncthreads();  // the states of all four warps are in place
    //@stub
    //@ if (lane == 0) ms[warp] = m, ls[warp] = l;
    //@ accs[warp][lane] = acc / l;
    //@ __syncthreads();
    //@end

    // Excluded: warps 1 .. 3, which are done.
    if (warp > 0) return;
    //@solution m, l and acc of all keys
    m = fmaxf(fmaxf(ms[0], ms[1]), fmaxf(ms[2], ms[3]));  // a number: keys >= 1
    l = 0.0f;
    acc = 0.0f;
    for (int w = 0; w < 4; ++w) {
        const float fade = expf(ms[w] - m);               // 0 for an empty warp
        l += ls[w] * fade;
        acc += accs[w][lane] * fade;
    }
    //@stub
    //@ l = (ls[0] + ls[1] + ls[2] + ls[3]) / 4;
    //@ acc = l * (accs[0][lane] + accs[1][lane] + accs[2][lane]
    //@            + accs[3][lane]) / 4;
    //@end
    O[row * 32 + lane] = acc / l;
    if (lane == 0) LSE[row] = m + logf(l);
}
