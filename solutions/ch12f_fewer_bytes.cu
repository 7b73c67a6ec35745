// Attention in one kernel and 8 KB of shared memory. The values are right;
// choose the two tile sizes so that global memory is asked for fewer bytes.
//
// grid:  any number of blocks; each takes every gridDim.x-th tile of queries
// block: 64 threads: two warps share the Br queries of a tile
// Q:     float32 (Nq, 32), read    K, V: float32 (Nk, 32), read
// O:     float32 (Nq, 32), written LSE:  float32 (Nq), written
// Nq, Nk: any >= 1
#include <math_constants.h>

extern "C" __global__ void fewer_bytes(const float* Q, const float* K,
                                       const float* V, float* O, float* LSE,
                                       int Nq, int Nk, float scale) {
    constexpr int d = 32;
    //@solution Br is even, Bc at most 32; which of them decides the bytes?
    constexpr int Br = 16;
    constexpr int Bc = 16;
    //@stub
    //@ constexpr int Br = 4;
    //@ constexpr int Bc = 24;
    //@end
    constexpr int rows = Br / 2;            // of a warp
    constexpr int needed = Br * d + Bc * (d + 1) + Bc * d + Br * Bc;
    // The compiler refuses sizes that don't fit.
    static_assert(needed <= 2048, "the four tiles must fit into 2048 floats");

    __shared__ float room[2048];            // 8 KB
    float* Qs = room;                       // Br rows of d
    float* Ks = Qs + Br * d;                // Bc rows of d + 1
    float* Vs = Ks + Bc * (d + 1);          // Bc rows of d
    float* Ps = Vs + Bc * d;                // Br rows of Bc
    const int lane = threadIdx.x % 32;      // my key of a tile, my column
    const int mine = threadIdx.x / 32 * rows;  // my warp's first row

    for (int first = blockIdx.x * Br; first < Nq; first += gridDim.x * Br) {
        for (int k = threadIdx.x; k < Br * d; k += 64) {
            Qs[k] = first * d + k < Nq * d ? Q[first * d + k] : 0.0f;
        }
        float m[rows], l[rows] = {}, acc[rows] = {};
        for (int i = 0; i < rows; ++i) m[i] = -CUDART_INF_F;

        for (int start = 0; start < Nk; start += Bc) {
            for (int k = threadIdx.x; k < Bc * d; k += 64) {
                const int j = k / d, c = k % d;
                const bool real = start + j < Nk;
                Ks[j * (d + 1) + c] = real ? K[(start + j) * d + c] : 0.0f;
                Vs[k] = real ? V[(start + j) * d + c] : 0.0f;
            }
            __syncthreads();  // Qs, Ks and Vs are filled

            // Lanes from Bc on have no key: they repeat one, for nothing.
            const bool real = lane < Bc && start + lane < Nk;
            float s[rows] = {};
            for (int c = 0; c < d; ++c) {
                const float key = Ks[lane % Bc * (d + 1) + c];
                for (int i = 0; i < rows; ++i) {
                    s[i] += Qs[(mine + i) * d + c] * key;
                }
            }

#pragma unroll
            for (int i = 0; i < rows; ++i) {
                s[i] = real ? scale * s[i] : -CUDART_INF_F;
                float m_new = fmaxf(m[i], s[i]);
                for (int w = 16; w > 0; w /= 2) {
                    m_new = fmaxf(m_new,
                                  __shfl_xor_sync(0xffffffffu, m_new, w));
                }
                const float p = expf(s[i] - m_new);
                if (lane < Bc) Ps[(mine + i) * Bc + lane] = p;
                float l_tile = p;
                for (int w = 16; w > 0; w /= 2) {
                    l_tile += __shfl_xor_sync(0xffffffffu, l_tile, w);
                }
                const float shrink = expf(m[i] - m_new);
                l[i] = l[i] * shrink + l_tile;
                acc[i] *= shrink;
                m[i] = m_new;
            }
            __syncwarp();  // my warp's rows of Ps are filled

            for (int j = 0; j < Bc; ++j) {
                const float v = Vs[j * d + lane];
                for (int i = 0; i < rows; ++i) {
                    acc[i] += Ps[(mine + i) * Bc + j] * v;
                }
            }
            __syncthreads();  // all are done with the tiles: refill them
        }

        float lse = 0.0f;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const int row = first + mine + i;
            if (row < Nq) O[row * d + lane] = acc[i] / l[i];
            if (lane == i) lse = m[i] + logf(l[i]);
        }
        const int row = first + mine + lane;
        if (lane < rows && row < Nq) LSE[row] = lse;
    }
}
