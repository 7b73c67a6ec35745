// O = (scale Q K^T) V on tensor cores: attention without its softmax. Each
// warp has 16 keys of a tile and all queries, so four warps add to all of O.
//
// grid:  1 block     block: 128 threads
// Q:     __half (64, 64), read      K, V: __half (Nk, 64), read
// O:     float32 (64, 64), written
// Nk:    any >= 1; rows past it are loaded as zeros
#include <flash2.cuh>

extern "C" __global__ void split_queries(
    const __half* Q, const __half* K, const __half* V, float* O, int Nk,
    float scale) {
    constexpr int d = 64, Br = 64, Bc = 64;
    __shared__ __align__(128) unsigned char memory[2 * d * (Br + 2 * Bc)];
    const unsigned Qs = ptx::shared_address(memory);
    const unsigned Ks = Qs + 2 * d * Br, Vs = Ks + 2 * d * Bc;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    //@solution which rows and which keys of a tile are my warp's?
    constexpr int rows = 16, keys = Bc;      // a warp's: 16 queries, all keys
    const int row = 16 * warp, key = 0;      // .. and the first of them
    float o[rows / 16][d / 8][4] = {};       // nobody else adds to these rows
    //@stub
    //@ __shared__ float Os[Br][d];              // all warps add to all of it
    //@ for (int k = threadIdx.x; k < Br * d; k += 128) Os[k / d][k % d] = 0.0f;
    //@ constexpr int rows = Br, keys = 16;  // a warp's: all queries, 16 keys
    //@ const int row = 0, key = 16 * warp;  // .. and the first of them
    //@end

    for (int start = 0; start < Nk; start += Bc) {
        if (start == 0) copy_tile<__half, d, Br>(Qs, Q, 0, Br);
        copy_tile<__half, d, Bc>(Ks, K, start, Nk);
        copy_tile<__half, d, Bc>(Vs, V, start, Nk);
        ptx::cp_async_commit();
        ptx::cp_async_wait<0>();
        __syncthreads();  // Q, K and V are here for all

        // ldmatrix: rows row .. of Q and key .. of K, 16 columns a step.
        float s[rows / 16][keys / 8][4] = {};
        const Rows<d> q_at(Qs, row + lane % 16, lane / 16);
        const Rows<d> k_at(Ks, key + lane % 8 + lane / 16 * 8, lane / 8 % 2);
        const Rows<d> v_at(Vs, key + lane % 16, lane / 16);
#pragma unroll
        for (int k = 0; k < d / 16; ++k)
#pragma unroll
            for (int i = 0; i < rows / 16; ++i) {
                unsigned a[4], b[4];
                ptx::ldmatrix_x4(a, q_at.at(k) + 16 * i * d * 2);
#pragma unroll
                for (int j = 0; j < keys / 16; ++j) {
                    ptx::ldmatrix_x4(b, k_at.at(k) + 16 * j * d * 2);
                    ptx::mma_m16n8k16(s[i][2 * j], a, b[0], b[1], __half());
                    ptx::mma_m16n8k16(s[i][2 * j + 1], a, b[2], b[3], __half());
                }
            }

#pragma unroll
        for (int i = 0; i < rows / 16; ++i) {
            //@solution where do the products of 16 rows go?
            float(&part)[d / 8][4] = o[i];   // they stay where they are
            //@stub
            //@ float part[d / 8][4] = {};
            //@end
#pragma unroll
            for (int k = 0; k < keys / 16; ++k) {
                unsigned a[4], b[4];  // C's layout is A's
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float* const x = s[i][2 * k + e / 2] + e % 2 * 2;
                    a[e] = ptx::pack2(scale * x[0], scale * x[1], __half());
                }
#pragma unroll
                for (int c = 0; c < d / 16; ++c) {
                    ptx::ldmatrix_x4_trans(b, v_at.at(c) + 16 * k * d * 2);
                    ptx::mma_m16n8k16(part[2 * c], a, b[0], b[1], __half());
                    ptx::mma_m16n8k16(part[2 * c + 1], a, b[2], b[3], __half());
                }
            }
        //@solution the end of the loop: who has to hear of its sums?
        }  // nobody: these rows are my warp's alone
        //@stub
        //@     for (int c = 0; c < d / 8; ++c)
        //@         for (int e = 0; e < 4; ++e)
        //@             atomicAdd(&Os[16 * i + lane / 4 + e / 2 * 8]
        //@                          [8 * c + lane % 4 * 2 + e % 2],
        //@                       part[c][e]);
        //@ }
        //@end
        __syncthreads();  // all are done with K and V: refill them
    }

    //@solution O, where it lies
#pragma unroll
    for (int c = 0; c < d / 8; ++c)
        for (int e = 0; e < 4; ++e) {
            const int r = row + lane / 4 + e / 2 * 8;
            O[r * d + 8 * c + lane % 4 * 2 + e % 2] = o[0][c][e];
        }
    //@stub
    //@ for (int k = threadIdx.x; k < Br * d; k += 128) O[k] = Os[k / d][k % d];
    //@end
}
