// Attention on tensor cores, heads of 64 columns. The launch gives a block
// 16,384 bytes, so that 13 blocks fit an SM; this tile needs more.
//
// grid:   ceil(Nq / 64) blocks    block: 128 threads: a warp for 16 queries
// shared: dynamic, 16,384 bytes: Q, one tile of K, one of V
// Q:      __half (Nq, 64), read      K, V: __half (Nk, 64), read
// O:      __half (Nq, 64), written      LSE: float32 (Nq), written
// Nq, Nk: any >= 1
#include <flash2.cuh>

extern "C" __global__ void __launch_bounds__(128) too_large(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE,
    int Nq, int Nk, float scale) {
    constexpr int d = 64, Br = 64;
    // TODO (1 line): keys of a tile: what is left of 16,384 bytes beside Q?
    constexpr int Bc = 64;
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Qs = ptx::shared_address(memory);
    const unsigned Ks = Qs + 2 * d * Br, Vs = Ks + 2 * d * Bc;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * Br;       // the block's first query
    const int mine = first + 16 * warp;      // my warp's first of 16
    const Rows<d> q_at(Qs, 16 * warp + lane % 16, lane / 16);
    const Rows<d> k_at(Ks, lane % 8 + lane / 16 * 8, lane / 8 % 2);
    const Rows<d> v_at(Vs, lane % 16, lane / 16);
    const float factor = scale * 1.4426950408889634f;

    float o[d / 8][4] = {};                  // rows lane / 4 and lane / 4 + 8
    float m[2] = {-CUDART_INF_F, -CUDART_INF_F}, l[2] = {};
    copy_tile<__half, d, Br>(Qs, Q, first, Nq);

    // TODO (1 line): where does the next tile begin?
    for (int start = 0; start < Nk; start += 64) {
        copy_tile<__half, d, Bc>(Ks, K, start, Nk);
        copy_tile<__half, d, Bc>(Vs, V, start, Nk);
        ptx::cp_async_commit();
        ptx::cp_async_wait<0>();
        __syncthreads();  // Q, K and V are here for all

        float s[Bc / 8][4] = {};
#pragma unroll
        for (int k = 0; k < d / 16; ++k) {
            unsigned a[4], b[4];
            ptx::ldmatrix_x4(a, q_at.at(k));
#pragma unroll
            for (int j = 0; j < Bc / 16; ++j) {
                ptx::ldmatrix_x4(b, k_at.at(k) + 16 * j * d * 2);
                ptx::mma_m16n8k16(s[2 * j], a, b[0], b[1], __half());
                ptx::mma_m16n8k16(s[2 * j + 1], a, b[2], b[3], __half());
            }
        }

        if (start + Bc > Nk) {               // keys that aren't there
#pragma unroll
            for (int j = 0; j < Bc / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int key = start + 8 * j + lane % 4 * 2 + e % 2;
                    if (key >= Nk) s[j][e] = -CUDART_INF_F;
                }
        }

#pragma unroll
        for (int h = 0; h < 2; ++h) {        // a row lies in four lanes
            float top = m[h];
#pragma unroll
            for (int j = 0; j < Bc / 8; ++j) {
                top = fmaxf(top, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            const float base = top == -CUDART_INF_F ? 0.0f : top * factor;
            const float shrink = ptx::exp2_approx(m[h] * factor - base);
            m[h] = top;
            l[h] *= shrink;
#pragma unroll
            for (int j = 0; j < Bc / 8; ++j)
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    s[j][e] = ptx::exp2_approx(fmaf(s[j][e], factor, -base));
                    l[h] += s[j][e];         // my columns; joined at the end
                }
#pragma unroll
            for (int c = 0; c < d / 8; ++c) {
                o[c][2 * h] *= shrink;
                o[c][2 * h + 1] *= shrink;
            }
        }

#pragma unroll
        // TODO (1 line): slices of 16 keys
        for (int k = 0; k < 4; ++k) {
            unsigned a[4], b[4];             // C's layout is A's
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float* const x = s[2 * k + e / 2] + e % 2 * 2;
                a[e] = ptx::pack2(x[0], x[1], __half());
            }
#pragma unroll
            for (int c = 0; c < d / 16; ++c) {
                ptx::ldmatrix_x4_trans(b, v_at.at(c) + 16 * k * d * 2);
                ptx::mma_m16n8k16(o[2 * c], a, b[0], b[1], __half());
                ptx::mma_m16n8k16(o[2 * c + 1], a, b[2], b[3], __half());
            }
        }
        __syncthreads();  // all are done with K and V: refill them
    }

#pragma unroll
    for (int h = 0; h < 2; ++h) {
        l[h] += __shfl_xor_sync(0xffffffffu, l[h], 1);
        l[h] += __shfl_xor_sync(0xffffffffu, l[h], 2);
        const float inverse = l[h] > 0.0f ? 1.0f / l[h] : 0.0f;
        const int row = mine + lane / 4 + 8 * h;
        if (row >= Nq) continue;
        if (lane % 4 == 0) {
            LSE[row] = l[h] > 0.0f ? scale * m[h] + logf(l[h]) : -CUDART_INF_F;
        }
#pragma unroll
        for (int c = 0; c < d / 8; ++c) {
            const unsigned pair = ptx::pack2(
                o[c][2 * h] * inverse, o[c][2 * h + 1] * inverse, __half());
            __half* const at = O + row * d + 8 * c + lane % 4 * 2;
            *reinterpret_cast<unsigned*>(at) = pair;
        }
    }
}
