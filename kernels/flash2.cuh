// FlashAttention-2 on tensor cores: mma.sync, ldmatrix, cp.async (sm_80 and up),
// a template: #include <flash2.cuh> and take flash2<__half, 64, 128, false>.
//
// grid:  (ceil(Nq / Br), heads)         block: 32 warps threads
// shared: dynamic, 2 d (Br + 2 Bc) bytes: Q, one tile of K, one of V
// Q:     T (heads, Nq, d), read         K, V: T (heads / group, Nk, d), read
// O:     T (heads, Nq, d), written      LSE:  float32 (heads, Nq), written
// T: __half or __nv_bfloat16; d: 64 or 128; Bc: keys of a tile, 32, 64 or 128
// Br: queries of a block, 128 unless said otherwise; warps: 4 unless said
// otherwise, each for Br / warps = 16 or 32 of its rows
// group: query heads that share a key head; causal: query i sees keys up to
// i + Nk - Nq. A row that sees no key gets O = 0 and LSE = -infinity.
#pragma once
#include <math_constants.h>
#include <tiles.cuh>

using tiles::place;
using tiles::Rows;

// Rows first .. first + rows - 1 of src into shared memory by cp.async; rows past n are zeros.
template <typename T, int d, int rows, int threads = 128>
__device__ __forceinline__ void copy_tile(unsigned to, const T* src, int first, int n) {
    tiles::copy<d, rows, threads>(to, src, first, n);
}

// What one block does; flash2 below is the kernel.
template <typename T, int d, int Bc, bool causal, int Br = 128, int warps = 4>
__device__ __forceinline__ void flash2_block(const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, T* __restrict__ O,
                                             float* __restrict__ LSE, int Nq, int Nk, int group, float scale) {
    constexpr int threads = 32 * warps, rows = Br / warps, parts = rows / 16;  // of a warp: rows, in parts of 16
    static_assert(rows == 16 || rows == 32, "a warp takes 16 or 32 rows");
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Qs = ptx::shared_address(memory), Ks = Qs + Br * d * 2, Vs = Ks + Bc * d * 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int tile = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // causal: the longest first
    const int first = tile * Br, head = blockIdx.y;
    Q += (size_t)head * Nq * d;
    O += (size_t)head * Nq * d;
    K += (size_t)(head / group) * Nk * d;
    V += (size_t)(head / group) * Nk * d;
    const int see = Nk - Nq;
    const int keys = causal ? max(0, min(Nk, min(first + Br, Nq) + see)) : Nk;  // what my rows see at all
    const int tiles = (keys + Bc - 1) / Bc;

    const Rows<d> q_at(Qs, rows * warp + lane % 16, lane / 16);
    const Rows<d> k_at(Ks, lane % 8 + lane / 16 * 8, lane / 8 % 2);
    const Rows<d> v_at(Vs, lane % 16, lane / 16);

    float o[parts][d / 8][4] = {};                          // rows 16 i + lane / 4 (+ 8) of mine
    float m[parts][2], l[parts][2];
#pragma unroll
    for (int i = 0; i < parts; ++i)
        for (int h = 0; h < 2; ++h) m[i][h] = -CUDART_INF_F, l[i][h] = 0.0f;
    const float scale2 = scale * 1.4426950408889634f;       // exp(x) = exp2(x log2 e)

    if (tiles > 0) {
        copy_tile<T, d, Br, threads>(Qs, Q, first, Nq);
        copy_tile<T, d, Bc, threads>(Ks, K, (tiles - 1) * Bc, Nk);
    }
    ptx::cp_async_commit();

    for (int t = tiles - 1; t >= 0; --t) {                  // from the last keys to the first: masks come first
        const int start = t * Bc;
        ptx::cp_async_wait<0>();
        __syncthreads();                                    // K is here for all; all are done with the old V
        copy_tile<T, d, Bc, threads>(Vs, V, start, Nk);
        ptx::cp_async_commit();

        float s[parts][Bc / 8][4] = {};
#pragma unroll
        for (int k = 0; k < d / 16; ++k) {
            unsigned a[parts][4];
#pragma unroll
            for (int i = 0; i < parts; ++i)
                ptx::ldmatrix_x4(a[i], q_at.at(k) + 16 * i * d * 2);
#pragma unroll
            for (int j = 0; j < Bc / 16; ++j) {
                unsigned b[4];
                ptx::ldmatrix_x4(b, k_at.at(k) + 16 * j * d * 2);
#pragma unroll
                for (int i = 0; i < parts; ++i) {
                    ptx::mma_m16n8k16(s[i][2 * j], a[i], b[0], b[1], T());
                    ptx::mma_m16n8k16(s[i][2 * j + 1], a[i], b[2], b[3], T());
                }
            }
        }

        if (start + Bc > Nk || (causal && start + Bc - 1 > first + rows * warp + see)) {
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
        for (int i = 0; i < parts; ++i) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {                   // row lane / 4, then row lane / 4 + 8
                float top = m[i][h];
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j) top = fmaxf(top, fmaxf(s[i][j][2 * h], s[i][j][2 * h + 1]));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
                const float safe = top == -CUDART_INF_F ? 0.0f : top * scale2;
                const float shrink = ptx::exp2_approx(m[i][h] * scale2 - safe);
                m[i][h] = top;
                float sum = 0.0f;
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j) {
                    s[i][j][2 * h] = ptx::exp2_approx(fmaf(s[i][j][2 * h], scale2, -safe));
                    s[i][j][2 * h + 1] = ptx::exp2_approx(fmaf(s[i][j][2 * h + 1], scale2, -safe));
                    sum += s[i][j][2 * h] + s[i][j][2 * h + 1];
                }
                l[i][h] = l[i][h] * shrink + sum;           // my 2 columns of each 8; joined after the last tile
#pragma unroll
                for (int c = 0; c < d / 8; ++c) {
                    o[i][c][2 * h] *= shrink;
                    o[i][c][2 * h + 1] *= shrink;
                }
            }
        }

        ptx::cp_async_wait<0>();
        __syncthreads();                                    // V is here for all; all are done with K
        if (t > 0) copy_tile<T, d, Bc, threads>(Ks, K, start - Bc, Nk);
        ptx::cp_async_commit();

#pragma unroll
        for (int k = 0; k < Bc / 16; ++k) {
            unsigned a[parts][4];                               // C's layout is A's: P stays in registers
#pragma unroll
            for (int i = 0; i < parts; ++i) {
                a[i][0] = ptx::pack2(s[i][2 * k][0], s[i][2 * k][1], T());
                a[i][1] = ptx::pack2(s[i][2 * k][2], s[i][2 * k][3], T());
                a[i][2] = ptx::pack2(s[i][2 * k + 1][0], s[i][2 * k + 1][1], T());
                a[i][3] = ptx::pack2(s[i][2 * k + 1][2], s[i][2 * k + 1][3], T());
            }
#pragma unroll
            for (int c = 0; c < d / 16; ++c) {
                unsigned b[4];
                ptx::ldmatrix_x4_trans(b, v_at.at(c) + 16 * k * d * 2);
#pragma unroll
                for (int i = 0; i < parts; ++i) {
                    ptx::mma_m16n8k16(o[i][2 * c], a[i], b[0], b[1], T());
                    ptx::mma_m16n8k16(o[i][2 * c + 1], a[i], b[2], b[3], T());
                }
            }
        }
    }

    ptx::cp_async_wait<0>();
    __syncthreads();                                        // all are done with Q: O takes its place
#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float sum = l[i][h];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
            const int r = rows * warp + 16 * i + lane / 4 + 8 * h;
            if (lane % 4 == 0 && first + r < Nq)
                LSE[(size_t)head * Nq + first + r] = sum > 0.0f ? m[i][h] * scale + logf(sum) : -CUDART_INF_F;
#pragma unroll
            for (int c = 0; c < d / 8; ++c) {
                const unsigned pair = ptx::pack2(o[i][c][2 * h] * inverse, o[i][c][2 * h + 1] * inverse, T());
                *reinterpret_cast<unsigned*>(memory + place<d>(r, c) + lane % 4 * 4) = pair;
            }
        }
    __syncwarp();                                           // my warp's rows of O are in shared memory
    constexpr int chunks = d / 8;
#pragma unroll
    for (int k = lane; k < rows * chunks; k += 32) {
        const int r = rows * warp + k / chunks, chunk = k % chunks;
        if (first + r < Nq)
            *reinterpret_cast<uint4*>(O + (size_t)(first + r) * d + chunk * 8) = *reinterpret_cast<const uint4*>(memory + place<d>(r, chunk));
    }
}

template <typename T, int d, int Bc, bool causal, int Br = 128, int warps = 4>
__global__ void __launch_bounds__(32 * warps)
flash2(const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, T* __restrict__ O,
       float* __restrict__ LSE, int Nq, int Nk, int group, float scale) {
    flash2_block<T, d, Bc, causal, Br, warps>(Q, K, V, O, LSE, Nq, Nk, group, scale);
}
