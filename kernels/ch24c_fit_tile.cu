// Attention on tensor cores whose tile is a template parameter. The launch
// gives a block 24,576 bytes. Of the tiles that fit, choose the one that
// fetches the fewest bytes, with the fewest barriers.
//
// grid:   any number of blocks, each takes every gridDim.x-th tile of queries
// block:  128 threads: a warp for a quarter of the tile's queries
// shared: dynamic, 24,576 bytes; a tile takes 2 d (Br + 2 Bc)
// Q:      __half (Nq, 64), read      K, V: __half (Nk, 64), read
// O:      __half (Nq, 64), written   Nq, Nk: any >= 1
#include <flash2.cuh>

template <int d, int Br, int Bc>
__device__ __forceinline__ void attend(
    const __half* Q, const __half* K, const __half* V, __half* O, int Nq,
    int Nk, float scale, int first, unsigned char* memory);

extern "C" __global__ void __launch_bounds__(128) fit_tile(
    const __half* Q, const __half* K, const __half* V, __half* O, int Nq,
    int Nk, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    // TODO (1 line): which of the twelve tiles?
    constexpr int Br = 64, Bc = 64;
    for (int t = blockIdx.x; t * Br < Nq; t += gridDim.x) {
        attend<64, Br, Bc>(Q, K, V, O, Nq, Nk, scale, t * Br, memory);
    }
}

// Br: 64, 128 or 192 queries; Bc: 16, 32, 64 or 128 keys.
template <int d, int Br, int Bc>
__device__ __forceinline__ void attend(
    const __half* Q, const __half* K, const __half* V, __half* O, int Nq,
    int Nk, float scale, int first, unsigned char* memory) {
    static_assert(Br % 64 == 0 && Bc % 16 == 0, "four warps, 16 rows each");
    constexpr int rows = Br / 4, parts = rows / 16;
    const unsigned Qs = ptx::shared_address(memory);
    const unsigned Ks = Qs + 2 * d * Br, Vs = Ks + 2 * d * Bc;
    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * rows;
    const Rows<d> q_at(Qs, mine + lane % 16, lane / 16);
    const Rows<d> k_at(Ks, lane % 8 + lane / 16 * 8, lane / 8 % 2);
    const Rows<d> v_at(Vs, lane % 16, lane / 16);
    const float factor = scale * 1.4426950408889634f;

    float o[parts][d / 8][4] = {}, m[parts][2], l[parts][2];
#pragma unroll
    for (int i = 0; i < parts; ++i)
        for (int h = 0; h < 2; ++h) m[i][h] = -CUDART_INF_F, l[i][h] = 0.0f;
    copy_tile<__half, d, Br>(Qs, Q, first, Nq);

    for (int start = 0; start < Nk; start += Bc) {
        copy_tile<__half, d, Bc>(Ks, K, start, Nk);
        copy_tile<__half, d, Bc>(Vs, V, start, Nk);
        ptx::cp_async_commit();
        ptx::cp_async_wait<0>();
        __syncthreads();  // Q, K and V are here for all

#pragma unroll
        for (int i = 0; i < parts; ++i) {    // 16 rows at a time
            float s[Bc / 8][4] = {};
#pragma unroll
            for (int k = 0; k < d / 16; ++k) {
                unsigned a[4], b[4];
                ptx::ldmatrix_x4(a, q_at.at(k) + 16 * i * d * 2);
#pragma unroll
                for (int j = 0; j < Bc / 16; ++j) {
                    ptx::ldmatrix_x4(b, k_at.at(k) + 16 * j * d * 2);
                    ptx::mma_m16n8k16(s[2 * j], a, b[0], b[1], __half());
                    ptx::mma_m16n8k16(s[2 * j + 1], a, b[2], b[3], __half());
                }
            }
#pragma unroll
            for (int j = 0; j < Bc / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int key = start + 8 * j + lane % 4 * 2 + e % 2;
                    if (key >= Nk) s[j][e] = -CUDART_INF_F;
                }

#pragma unroll
            for (int h = 0; h < 2; ++h) {    // a row lies in four lanes
                float top = m[i][h];
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j) {
                    top = fmaxf(top, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
                }
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
                const float shrink = ptx::exp2_approx((m[i][h] - top) * factor);
                m[i][h] = top;
                l[i][h] *= shrink;
#pragma unroll
                for (int j = 0; j < Bc / 8; ++j)
#pragma unroll
                    for (int e = 2 * h; e < 2 * h + 2; ++e) {
                        s[j][e] = ptx::exp2_approx((s[j][e] - top) * factor);
                        l[i][h] += s[j][e];
                    }
#pragma unroll
                for (int c = 0; c < d / 8; ++c) {
                    o[i][c][2 * h] *= shrink;
                    o[i][c][2 * h + 1] *= shrink;
                }
            }

#pragma unroll
            for (int k = 0; k < Bc / 16; ++k) {
                unsigned a[4], b[4];         // C's layout is A's
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float* const x = s[2 * k + e / 2] + e % 2 * 2;
                    a[e] = ptx::pack2(x[0], x[1], __half());
                }
#pragma unroll
                for (int c = 0; c < d / 16; ++c) {
                    ptx::ldmatrix_x4_trans(b, v_at.at(c) + 16 * k * d * 2);
                    ptx::mma_m16n8k16(o[i][2 * c], a, b[0], b[1], __half());
                    ptx::mma_m16n8k16(o[i][2 * c + 1], a, b[2], b[3], __half());
                }
            }
        }
        __syncthreads();  // all are done with Q, K and V: refill them
    }

#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            l[i][h] += __shfl_xor_sync(0xffffffffu, l[i][h], 1);
            l[i][h] += __shfl_xor_sync(0xffffffffu, l[i][h], 2);
            const float total = l[i][h];
            const int row = first + mine + 16 * i + lane / 4 + 8 * h;
            if (row >= Nq) continue;
#pragma unroll
            for (int c = 0; c < d / 8; ++c) {
                const float* const x = o[i][c] + 2 * h;
                const unsigned pair =
                    ptx::pack2(x[0] / total, x[1] / total, __half());
                __half* const at = O + row * d + 8 * c + lane % 4 * 2;
                *reinterpret_cast<unsigned*>(at) = pair;
            }
        }
}
