// Attention in float32, but for one part of it that is rounded to 16 bits.
//
// grid:  Nq blocks     block: 32 threads: a warp for a query
// Q:     float32 (Nq, 32), read     K, V: float32 (Nk, 32), read
// O:     float32 (Nq, 32), written
// part:  what has 16 bits: 0 nothing; 1 Q, K and V; 2 the scores; 3 the
//        weights; 4 the sums l and acc
// bf16:  0: the 16 bits are fp16; 1: they are bf16
// Nq: any >= 1; Nk: a multiple of 32
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

constexpr int d = 32, Bc = 32;

extern "C" __global__ void attention_parts(
    const float* Q, const float* K, const float* V, float* O, int Nk,
    float scale, int part, int bf16) {
    const int lane = threadIdx.x;  // my key of a tile, my column of V and O
    const float* q = Q + blockIdx.x * d;
    auto cut = [&](float x, int of) {  // x, in 16 bits if `of` is the part
        if (of != part) return x;
        return bf16 ? __bfloat162float(__float2bfloat16(x))
                    : __half2float(__float2half(x));
    };
    float m = -CUDART_INF_F, l = 0.0f, acc = 0.0f;

    for (int start = 0; start < Nk; start += Bc) {
        const float* k = K + (start + lane) * d;
        float s = 0.0f;
        for (int c = 0; c < d; ++c) s = fmaf(cut(q[c], 1), cut(k[c], 1), s);
        s = cut(scale * s, 2);

        float m_new = fmaxf(m, s);
        for (int w = 16; w > 0; w /= 2) {
            m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, w));
        }
        const float p = expf(s - m_new), shrink = expf(m - m_new);
        m = m_new;
        l = cut(l * shrink, 4);
        acc = cut(acc * shrink, 4);
        for (int j = 0; j < Bc; ++j) {
            const float weight = __shfl_sync(0xffffffffu, p, j);
            l = cut(l + weight, 4);
            const float v = cut(V[(start + j) * d + lane], 1);
            acc = cut(fmaf(cut(weight, 3), v, acc), 4);
        }
    }
    O[blockIdx.x * d + lane] = acc / l;
}
