// Attention as the first FlashAttention split it: a warp owns keys, a quarter
// of each tile, and all queries of the block. Otherwise as flash2_by_queries.cuh.
//
// grid:   (ceil(Nq / Br) with many_blocks, else 1; heads)     block: 128 threads
// shared: dynamic, 2 d (Br + 2 Bc) + 256 (d + 8) + 36 Br bytes: Q, K, V; each
//         warp's part of 16 rows of O; each warp's maxima and sums; factors
// Q:      __half (heads, Nq, d), read      K, V: __half (heads, Nk, d), read
// O:      __half (heads, Nq, d), written   LSE: float32 (heads, Nq), written
// ideas:  divide_once 1, folded_exp2 2, many_blocks 4, skip_tiles 8: their sum
// causal: query i sees keys up to i + Nk - Nq; none: O = 0, LSE = -infinity
#pragma once
#include <flash2.cuh>

template <int d, bool causal, unsigned ideas, int Br = 128, int Bc = 64>
__device__ __forceinline__ void keys_attend(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE,
    int Nq, int Nk, float scale, int first, unsigned char* memory) {
    constexpr int parts = Br / 16, mine = Bc / 4;           // keys of a warp
    constexpr bool once = ideas & 1, folded = ideas & 2, skip = causal && (ideas & 8);
    const unsigned Qs = ptx::shared_address(memory), Ks = Qs + Br * d * 2, Vs = Ks + Bc * d * 2;
    float* const part = reinterpret_cast<float*>(memory + 2 * d * (Br + 2 * Bc));  // [4][16][d + 8]
    float* const tops = part + 4 * 16 * (d + 8);            // [4][Br]
    float* const sums = tops + 4 * Br;                      // [4][Br]
    float* const keeps = sums + 4 * Br;                     // [Br]: what becomes of O so far
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, see = Nk - Nq;
    const int keys = skip ? max(0, min(Nk, min(first + Br, Nq) + see)) : Nk;
    const int tiles = (keys + Bc - 1) / Bc;
    const Rows<d> q_at(Qs, lane % 16, lane / 16);
    const Rows<d> k_at(Ks, mine * warp + lane % 8 + lane / 16 * 8, lane / 8 % 2);
    const Rows<d> v_at(Vs, mine * warp + lane % 16, lane / 16);

    // O is spread over the block: row threadIdx.x / 8 of each 16, four columns
    // of each 32. Maxima and sums are of rows 16 i + lane / 4 (+ 8), in each warp.
    const int row_o = threadIdx.x / 8, column = threadIdx.x % 8 * 4;
    float o[parts][d / 8] = {}, m[parts][2], l[parts][2];
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

        float s[parts][mine / 8][4] = {};                   // all rows, my keys of the tile
#pragma unroll
        for (int k = 0; k < d / 16; ++k) {
            unsigned a[4], b[mine / 16][4];
#pragma unroll
            for (int j = 0; j < mine / 16; ++j) ptx::ldmatrix_x4(b[j], k_at.at(k) + 16 * j * d * 2);
#pragma unroll
            for (int i = 0; i < parts; ++i) {
                ptx::ldmatrix_x4(a, q_at.at(k) + 16 * i * d * 2);
#pragma unroll
                for (int j = 0; j < mine / 16; ++j) {
                    ptx::mma_m16n8k16(s[i][2 * j], a, b[j][0], b[j][1], __half());
                    ptx::mma_m16n8k16(s[i][2 * j + 1], a, b[j][2], b[j][3], __half());
                }
            }
        }
        if (!folded) {
#pragma unroll
            for (int i = 0; i < parts; ++i)
#pragma unroll
                for (int j = 0; j < mine / 8; ++j)
                    for (int e = 0; e < 4; ++e) s[i][j][e] *= scale;
        }
        if (start + Bc > Nk || (causal && (!skip || start + Bc - 1 > first + see))) {
#pragma unroll
            for (int i = 0; i < parts; ++i)
#pragma unroll
                for (int j = 0; j < mine / 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        const int row = first + 16 * i + lane / 4 + e / 2 * 8;
                        const int key = start + mine * warp + 8 * j + lane % 4 * 2 + e % 2;
                        if (key >= Nk || (causal && key > row + see)) s[i][j][e] = -CUDART_INF_F;
                    }
        }

        // A row's keys lie in four warps: each tells the others its maximum.
#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float top = -CUDART_INF_F;
#pragma unroll
                for (int j = 0; j < mine / 8; ++j) top = fmaxf(top, fmaxf(s[i][j][2 * h], s[i][j][2 * h + 1]));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
                if (lane % 4 == 0) tops[warp * Br + 16 * i + lane / 4 + 8 * h] = top;
            }
        ptx::cp_async_wait<0>();
        __syncthreads();  // the maxima and V are here for all; all are done with K
        if (t > 0) copy_tile<__half, d, Bc>(Ks, K, start - Bc, Nk);
        ptx::cp_async_commit();

#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int r = 16 * i + lane / 4 + 8 * h;
                const float top = fmaxf(m[i][h], fmaxf(fmaxf(tops[r], tops[Br + r]), fmaxf(tops[2 * Br + r], tops[3 * Br + r])));
                const float base = top == -CUDART_INF_F ? 0.0f : top * unit;
                const float shrink = folded ? ptx::exp2_approx(m[i][h] * unit - base) : __expf(m[i][h] - base);
                m[i][h] = top;
                float sum = 0.0f;
#pragma unroll
                for (int j = 0; j < mine / 8; ++j)
#pragma unroll
                    for (int e = 2 * h; e < 2 * h + 2; ++e) {
                        s[i][j][e] = folded ? ptx::exp2_approx(fmaf(s[i][j][e], unit, -base)) : __expf(s[i][j][e] - base);
                        sum += s[i][j][e];
                    }
                l[i][h] *= shrink;
                if (once) {
                    l[i][h] += sum;                         // of my keys; joined after the last tile
                    if (warp == 0 && lane % 4 == 0) keeps[r] = shrink;
                } else {
                    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                    if (lane % 4 == 0) sums[warp * Br + r] = sum;
                }
            }
        if (!once) {
            __syncthreads();  // each warp's sums are here for all
#pragma unroll
            for (int i = 0; i < parts; ++i)
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const int r = 16 * i + lane / 4 + 8 * h;
                    const float total = l[i][h] + sums[r] + sums[Br + r] + sums[2 * Br + r] + sums[3 * Br + r];
                    const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
                    if (warp == 0 && lane % 4 == 0) keeps[r] = l[i][h] * inverse;
                    l[i][h] = total;
#pragma unroll
                    for (int j = 0; j < mine / 8; ++j) s[i][j][2 * h] *= inverse, s[i][j][2 * h + 1] *= inverse;
                }
        }

        // P V of my keys is a part of every row of O: 16 rows at a time, the
        // four parts are written, met and added.
#pragma unroll
        for (int i = 0; i < parts; ++i) {
            float mine_o[d / 8][4] = {};
#pragma unroll
            for (int k = 0; k < mine / 16; ++k) {
                unsigned a[4], b[4];
#pragma unroll
                for (int e = 0; e < 4; ++e) a[e] = ptx::pack2(s[i][2 * k + e / 2][e % 2 * 2], s[i][2 * k + e / 2][e % 2 * 2 + 1], __half());
#pragma unroll
                for (int c = 0; c < d / 16; ++c) {
                    ptx::ldmatrix_x4_trans(b, v_at.at(c) + 16 * k * d * 2);
                    ptx::mma_m16n8k16(mine_o[2 * c], a, b[0], b[1], __half());
                    ptx::mma_m16n8k16(mine_o[2 * c + 1], a, b[2], b[3], __half());
                }
            }
#pragma unroll
            for (int c = 0; c < d / 8; ++c)
#pragma unroll
                for (int h = 0; h < 2; ++h)
                    *reinterpret_cast<float2*>(part + (warp * 16 + lane / 4 + 8 * h) * (d + 8) + 8 * c + lane % 4 * 2) =
                        make_float2(mine_o[c][2 * h], mine_o[c][2 * h + 1]);
            __syncthreads();  // four parts of 16 rows are written
            const float keep = keeps[16 * i + row_o];
#pragma unroll
            for (int q = 0; q < d / 32; ++q) {
#pragma unroll
                for (int e = 0; e < 4; ++e) o[i][4 * q + e] *= keep;
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    const float4 x = *reinterpret_cast<const float4*>(part + (w * 16 + row_o) * (d + 8) + 32 * q + column);
                    o[i][4 * q] += x.x, o[i][4 * q + 1] += x.y, o[i][4 * q + 2] += x.z, o[i][4 * q + 3] += x.w;
                }
            }
            __syncthreads();  // all are done with the parts: write the next 16 rows
        }
    }

    // The sums of a row, from four warps; then O, where it lies.
#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float sum = l[i][h];
            if (once) {
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            }
            if (lane % 4 == 0) sums[warp * Br + 16 * i + lane / 4 + 8 * h] = once || warp == 0 ? sum : 0.0f;
            if (lane % 4 == 0 && warp == 0) tops[16 * i + lane / 4 + 8 * h] = m[i][h] * (folded ? scale : 1.0f);
        }
    __syncthreads();  // sums and maxima are here for all
#pragma unroll
    for (int i = 0; i < parts; ++i) {
        const int r = 16 * i + row_o, row = first + r;
        const float sum = sums[r] + sums[Br + r] + sums[2 * Br + r] + sums[3 * Br + r];
        const float inverse = !once ? 1.0f : sum > 0.0f ? 1.0f / sum : 0.0f;
        if (row >= Nq) continue;
        if (column == 0) LSE[row] = sum > 0.0f ? tops[r] + logf(sum) : -CUDART_INF_F;
#pragma unroll
        for (int q = 0; q < d / 32; ++q)
            *reinterpret_cast<uint2*>(O + (size_t)row * d + 32 * q + column) =
                make_uint2(ptx::pack2(o[i][4 * q] * inverse, o[i][4 * q + 1] * inverse, __half()),
                           ptx::pack2(o[i][4 * q + 2] * inverse, o[i][4 * q + 3] * inverse, __half()));
    }
}

template <int d, bool causal, unsigned ideas, int Br, int Bc>
__device__ __forceinline__ void keys_head(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE, int Nq, int Nk, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const size_t at = blockIdx.y;
    Q += at * Nq * d, K += at * Nk * d, V += at * Nk * d, O += at * Nq * d, LSE += at * Nq;
    if (ideas & 4) {
        const int tile = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // causal: the longest first
        keys_attend<d, causal, ideas, Br, Bc>(Q, K, V, O, LSE, Nq, Nk, scale, tile * Br, memory);
    } else {
        for (int first = 0; first < Nq; first += Br) {
            keys_attend<d, causal, ideas, Br, Bc>(Q, K, V, O, LSE, Nq, Nk, scale, first, memory);
            __syncthreads();  // all are done with the sums: the next queries may come
        }
    }
}

template <int d, bool causal, unsigned ideas, int Br = 128, int Bc = 64>
__global__ void __launch_bounds__(128) by_keys(
    const __half* __restrict__ Q, const __half* __restrict__ K, const __half* __restrict__ V, __half* __restrict__ O,
    float* __restrict__ LSE, int Nq, int Nk, float scale) {
    keys_head<d, causal, ideas, Br, Bc>(Q, K, V, O, LSE, Nq, Nk, scale);
}
