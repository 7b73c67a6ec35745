// FlashAttention-2, one idea a switch: a warp owns queries, all keys pass it.
// by_queries<64, false, all_ideas> is the kernel; queries_head what a block does.
//
// grid:   (ceil(Nq / Br) with many_blocks, else 1; heads)     block: 128 threads
// shared: dynamic, 2 d (Br + 2 Bc) bytes: Q, one tile of K, one of V
// Q:      __half (heads, Nq, d), read      K, V: __half (heads, Nk, d), read
// O:      __half (heads, Nq, d), written   LSE: float32 (heads, Nq), written
// ideas:  the sum of those below; what is left out is done as before
// causal: query i sees keys up to i + Nk - Nq; none: O = 0, LSE = -infinity
#pragma once
#include <flash2.cuh>

constexpr unsigned divide_once = 1;  // O is divided after the last tile, not after each
constexpr unsigned folded_exp2 = 2;  // exp(scale s - m) as one fma and exp2
constexpr unsigned many_blocks = 4;  // a block for each tile of queries, not for each head
constexpr unsigned skip_tiles = 8;   // causal: no unseen tile is visited, only cut ones are masked
constexpr unsigned all_ideas = 15;

template <int d, bool causal, unsigned ideas, int Br = 128, int Bc = 64>
__device__ __forceinline__ void queries_attend(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE,
    int Nq, int Nk, float scale, int first, unsigned char* memory) {
    constexpr int rows = Br / 4, parts = rows / 16;         // of a warp, in parts of 16
    constexpr bool once = ideas & divide_once, folded = ideas & folded_exp2, skip = causal && (ideas & skip_tiles);
    const unsigned Qs = ptx::shared_address(memory), Ks = Qs + Br * d * 2, Vs = Ks + Bc * d * 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, see = Nk - Nq;
    const int keys = skip ? max(0, min(Nk, min(first + Br, Nq) + see)) : Nk;
    const int tiles = (keys + Bc - 1) / Bc;
    const Rows<d> q_at(Qs, rows * warp + lane % 16, lane / 16);
    const Rows<d> k_at(Ks, lane % 8 + lane / 16 * 8, lane / 8 % 2);
    const Rows<d> v_at(Vs, lane % 16, lane / 16);

    float o[parts][d / 8][4] = {}, m[parts][2], l[parts][2];
#pragma unroll
    for (int i = 0; i < parts; ++i)
        for (int h = 0; h < 2; ++h) m[i][h] = -CUDART_INF_F, l[i][h] = 0.0f;
    const float unit = folded ? scale * 1.4426950408889634f : 1.0f;

    if (tiles > 0) {
        copy_tile<__half, d, Br>(Qs, Q, first, Nq);
        copy_tile<__half, d, Bc>(Ks, K, (tiles - 1) * Bc, Nk);
    }
    ptx::cp_async_commit();
    for (int t = tiles - 1; t >= 0; --t) {
        const int start = t * Bc;
        ptx::cp_async_wait<0>();
        __syncthreads();  // K is here for all; all are done with the old V
        copy_tile<__half, d, Bc>(Vs, V, start, Nk);
        ptx::cp_async_commit();

        float s[parts][Bc / 8][4] = {};                     // my rows, all keys of the tile
#pragma unroll
        for (int k = 0; k < d / 16; ++k) {
            unsigned a[parts][4], b[4];
#pragma unroll
            for (int i = 0; i < parts; ++i) ptx::ldmatrix_x4(a[i], q_at.at(k) + 16 * i * d * 2);
#pragma unroll
            for (int j = 0; j < Bc / 16; ++j) {
                ptx::ldmatrix_x4(b, k_at.at(k) + 16 * j * d * 2);
#pragma unroll
                for (int i = 0; i < parts; ++i) {
                    ptx::mma_m16n8k16(s[i][2 * j], a[i], b[0], b[1], __half());
                    ptx::mma_m16n8k16(s[i][2 * j + 1], a[i], b[2], b[3], __half());
                }
            }
        }

        if (!folded) {
#pragma unroll
            for (int i = 0; i < parts; ++i)
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j)
                    for (int e = 0; e < 4; ++e) s[i][j][e] *= scale;
        }
        if (start + Bc > Nk || (causal && (!skip || start + Bc - 1 > first + rows * warp + see))) {
#pragma unroll
            for (int i = 0; i < parts; ++i)
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        const int row = first + rows * warp + 16 * i + lane / 4 + e / 2 * 8;
                        const int key = start + 8 * j + lane % 4 * 2 + e % 2;
                        if (key >= Nk || (causal && key > row + see)) s[i][j][e] = -CUDART_INF_F;
                    }
        }

#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) {                   // a row, alone in its four lanes
                float top = m[i][h], sum = 0.0f;
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j)
                    top = fmaxf(top, fmaxf(s[i][j][2 * h], s[i][j][2 * h + 1]));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
                const float base = top == -CUDART_INF_F ? 0.0f : top * unit;
                const float shrink = folded ? ptx::exp2_approx(m[i][h] * unit - base)
                                            : __expf(m[i][h] - base);
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j)
#pragma unroll
                    for (int e = 2 * h; e < 2 * h + 2; ++e) {
                        s[i][j][e] = folded ? ptx::exp2_approx(fmaf(s[i][j][e], unit, -base))
                                            : __expf(s[i][j][e] - base);
                        sum += s[i][j][e];
                    }
                float keep = shrink;
                if (once) {
                    l[i][h] = l[i][h] * shrink + sum;  // of my columns; joined at the end
                } else {
                    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                    const float total = l[i][h] * shrink + sum;
                    const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
                    keep = l[i][h] * shrink * inverse;
                    l[i][h] = total;
#pragma unroll
                    for (int j = 0; j < Bc / 8; ++j)
                        s[i][j][2 * h] *= inverse, s[i][j][2 * h + 1] *= inverse;
                }
                m[i][h] = top;
#pragma unroll
                for (int c = 0; c < d / 8; ++c)
                    o[i][c][2 * h] *= keep, o[i][c][2 * h + 1] *= keep;
            }

        ptx::cp_async_wait<0>();
        __syncthreads();  // V is here for all; all are done with K
        if (t > 0) copy_tile<__half, d, Bc>(Ks, K, start - Bc, Nk);
        ptx::cp_async_commit();
#pragma unroll
        for (int k = 0; k < Bc / 16; ++k) {
            unsigned a[parts][4], b[4];                     // C's layout is A's: P stays in registers
#pragma unroll
            for (int i = 0; i < parts; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    a[i][e] = ptx::pack2(s[i][2 * k + e / 2][e % 2 * 2], s[i][2 * k + e / 2][e % 2 * 2 + 1], __half());
#pragma unroll
            for (int c = 0; c < d / 16; ++c) {
                ptx::ldmatrix_x4_trans(b, v_at.at(c) + 16 * k * d * 2);
#pragma unroll
                for (int i = 0; i < parts; ++i) {
                    ptx::mma_m16n8k16(o[i][2 * c], a[i], b[0], b[1], __half());
                    ptx::mma_m16n8k16(o[i][2 * c + 1], a[i], b[2], b[3], __half());
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float sum = l[i][h];
            if (once) {
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            }
            const float inverse = !once ? 1.0f : sum > 0.0f ? 1.0f / sum : 0.0f;
            const int row = first + rows * warp + 16 * i + lane / 4 + 8 * h;
            if (row >= Nq) continue;
            if (lane % 4 == 0) LSE[row] = sum > 0.0f ? m[i][h] * (folded ? scale : 1.0f) + logf(sum) : -CUDART_INF_F;
#pragma unroll
            for (int c = 0; c < d / 8; ++c)
                *reinterpret_cast<unsigned*>(O + (size_t)row * d + 8 * c + lane % 4 * 2) =
                    ptx::pack2(o[i][c][2 * h] * inverse, o[i][c][2 * h + 1] * inverse, __half());
        }
}

template <int d, bool causal, unsigned ideas, int Br, int Bc>
__device__ __forceinline__ void queries_head(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE, int Nq, int Nk, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const size_t at = blockIdx.y;
    Q += at * Nq * d, K += at * Nk * d, V += at * Nk * d, O += at * Nq * d, LSE += at * Nq;
    if (ideas & many_blocks) {
        const int tile = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // causal: the longest first
        queries_attend<d, causal, ideas, Br, Bc>(Q, K, V, O, LSE, Nq, Nk, scale, tile * Br, memory);
    } else {
        for (int first = 0; first < Nq; first += Br)        // the next tile's first barrier keeps V for the last one
            queries_attend<d, causal, ideas, Br, Bc>(Q, K, V, O, LSE, Nq, Nk, scale, first, memory);
    }
}

template <int d, bool causal, unsigned ideas, int Br = 128, int Bc = 64>
__global__ void __launch_bounds__(128) by_queries(
    const __half* __restrict__ Q, const __half* __restrict__ K, const __half* __restrict__ V, __half* __restrict__ O,
    float* __restrict__ LSE, int Nq, int Nk, float scale) {
    queries_head<d, causal, ideas, Br, Bc>(Q, K, V, O, LSE, Nq, Nk, scale);
}
