// FlashAttention-2's backward pass on tensor cores (mma.sync, ldmatrix,
// cp.async; sm_80 and up): three kernels, launched in this order.
//
//   backward_rows     delta = rowsum(dO * O), LSE in powers of 2, dQ's sums = 0
//   backward_keys     a block owns keys: dK, dV; it adds its part to dQ's sums
//                     (backward_pairs for d = 128)
//   backward_convert  dQ's sums, times scale, in 16 bits
//
// or, for the same bits at every run: backward_rows, backward_keys without dQ,
// and backward_queries, in which a block owns queries: dQ (seven products).
//
// Q, O, dO, dQ: T (heads, Nq, d); K, V, dK, dV: T (heads / group, Nk, d)
// LSE:  float32 (heads, Nq), -infinity where a query sees no key
// sums: float4 (heads, ceil(Nq / 64), 16 d), dQ's tiles in the order of mma's
//       accumulators; rows: float2 (heads, ceil(Nq / 64) * 64)
// T: __half or __nv_bfloat16; d: 64 or 128; causal: query i sees keys up to
// i + Nk - Nq; group: query heads that share a key head
#pragma once
#include <flash2_backward_keys.cuh>

// grid: (ceil(Nq / 64), heads)   block: 256 threads
// rows[i] = (LSE log2 e, delta); +infinity for LSE where a query sees no key and
// past the last one: 2^(s - infinity) = 0, so that no later kernel has to ask.
template <typename T, int d>
__global__ void __launch_bounds__(256) backward_rows(const T* __restrict__ O, const T* __restrict__ dO, const float* __restrict__ LSE,
                                                     float2* __restrict__ rows, float4* __restrict__ sums, int Nq) {
    constexpr int chunks = d / 8;                           // lanes of a row
    const size_t tile = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    const int chunk = threadIdx.x % chunks;
    for (int r = threadIdx.x / chunks; r < Br; r += 256 / chunks) {
        const int row = blockIdx.x * Br + r;
        float sum = 0.0f, lse = -CUDART_INF_F;
        if (row < Nq) {
            const size_t at = ((size_t)blockIdx.y * Nq + row) * d + chunk * 8;
            const uint4 o = *reinterpret_cast<const uint4*>(O + at), g = *reinterpret_cast<const uint4*>(dO + at);
#pragma unroll
            for (int k = 0; k < 8; ++k)
                sum += static_cast<float>(reinterpret_cast<const T*>(&o)[k]) * static_cast<float>(reinterpret_cast<const T*>(&g)[k]);
            lse = LSE[(size_t)blockIdx.y * Nq + row];
        }
#pragma unroll
        for (int k = chunks / 2; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
        const bool sees = lse != -CUDART_INF_F;
        if (chunk == 0) rows[tile * Br + r] = make_float2(sees ? lse * 1.4426950408889634f : CUDART_INF_F, sees ? sum : 0.0f);
    }
    if (sums != nullptr)
        for (int k = threadIdx.x; k < Br * d / 4; k += 256) sums[tile * (Br * d / 4) + k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// grid: (ceil(Nq / 64), heads)   block: 128 threads   shared: 128 d bytes
template <typename T, int d>
__global__ void __launch_bounds__(128) backward_convert(const float4* __restrict__ sums, T* __restrict__ dQ, int Nq, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * Br;
    float dq[1][d / 8][4];
    const float4* from = sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * (Br * d / 4) + warp * (d / 8) * 32 + lane;
#pragma unroll
    for (int j = 0; j < d / 8; ++j) {
        const float4 sum = from[j * 32];
        dq[0][j][0] = sum.x, dq[0][j][1] = sum.y, dq[0][j][2] = sum.z, dq[0][j][3] = sum.w;
    }
    tiles::store_rows<d, 1>(dQ + (size_t)blockIdx.y * Nq * d, memory, dq, scale, first, 16 * warp, Nq);
}

// dQ with the same bits at every run. grid: (ceil(Nq / Bq), heads)
// block: 32 warps threads; Bq = 16 m warps queries, keys in tiles of n
// shared: dynamic, 4 Bq d + 8 n d bytes: Q, dO; twice K, V
// S and dP are made a second time, queries by keys now: dS is A's fragment for dQ.
template <typename T, int d, int warps, int m, int n, bool causal, int blocks>
__global__ void __launch_bounds__(32 * warps, blocks)
backward_queries(const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, const T* __restrict__ dO,
                 const float2* __restrict__ rows, T* __restrict__ dQ, int Nq, int Nk, int group, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    constexpr int threads = 32 * warps, Bq = 16 * m * warps, tile_bytes = n * d * 2;
    const unsigned Qs = ptx::shared_address(memory), dOs = Qs + Bq * d * 2, Ks = dOs + Bq * d * 2, Vs = Ks + 2 * tile_bytes;
    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * 16 * m, head = blockIdx.y;
    const int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * Bq;  // causal: the longest first
    const int see = causal ? Nk - Nq : Nk;
    const int keys = causal ? max(0, min(Nk, min(first + Bq, Nq) + see)) : Nk, steps = (keys + n - 1) / n;
    Q += (size_t)head * Nq * d;
    dO += (size_t)head * Nq * d;
    dQ += (size_t)head * Nq * d;
    K += (size_t)(head / group) * Nk * d;
    V += (size_t)(head / group) * Nk * d;
    rows += (size_t)head * ((Nq + Br - 1) / Br) * Br;

    const auto load = [&](int step) {
        tiles::copy<d, n, threads>(Ks + step % 2 * tile_bytes, K, step * n, Nk);
        tiles::copy<d, n, threads>(Vs + step % 2 * tile_bytes, V, step * n, Nk);
        ptx::cp_async_commit();
    };
    tiles::copy<d, Bq, threads>(Qs, Q, first, Nq);
    tiles::copy<d, Bq, threads>(dOs, dO, first, Nq);
    if (steps > 0) load(0);

    float2 number[m][2];                                    // LSE and delta of rows 16 i + lane / 4 (+ 8)
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int row = first + mine + 16 * i + lane / 4 + 8 * h;
            number[i][h] = row < Nq ? rows[row] : make_float2(CUDART_INF_F, 0.0f);
        }
    const auto Q_rows = tiles::down<d>(Qs, mine), dO_rows = tiles::down<d>(dOs, mine);
    const float scale2 = scale * 1.4426950408889634f;
    float dq[m][d / 8][4] = {};

    for (int step = 0; step < steps; ++step) {
        ptx::cp_async_wait<0>();
        __syncthreads();                                    // the tile is here; all are done with the one before
        if (step + 1 < steps) load(step + 1);
        const int start = step * n, tile = step % 2 * tile_bytes;
        float s[m][n / 8][4], dp[m][n / 8][4];
        tiles::multiply_rows<d, m, n>(s, Q_rows, tiles::across<d>(Ks + tile, 0), T());
        tiles::multiply_rows<d, m, n>(dp, dO_rows, tiles::across<d>(Vs + tile, 0), T());
        const bool masked = start + n > Nk || (causal && start + n - 1 > first + mine + see);
#pragma unroll
        for (int i = 0; i < m; ++i)
#pragma unroll
            for (int j = 0; j < n / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float2 its = number[i][e / 2];
                    float p = ptx::exp2_approx(fmaf(s[i][j][e], scale2, -its.x));
                    if (masked) {
                        const int key = start + 8 * j + lane % 4 * 2 + e % 2, query = first + mine + 16 * i + lane / 4 + e / 2 * 8;
                        if (key >= Nk || (causal && key > query + see)) p = 0.0f;
                    }
                    dp[i][j][e] = p * (dp[i][j][e] - its.y);
                }
        unsigned ds16[m][n / 16][4];
        tiles::pack<m, n>(ds16, dp, T());
        tiles::add_product<d, m, n>(dq, ds16, tiles::down<d>(Ks + tile, 0), T());
    }
    ptx::cp_async_wait<0>();
    __syncthreads();                                        // without keys, too: Q is no longer on its way
    tiles::store_rows<d, m>(dQ, memory, dq, scale, first, mine, Nq);
}
