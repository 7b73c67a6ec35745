// The pass of FlashAttention-2's backward in which blocks own keys (see
// flash2_backward.cuh): backward_keys, and backward_pairs for wide heads.
#pragma once
#include <math_constants.h>
#include <tiles.cuh>

constexpr int Br = 64;                                      // queries of a tile

// The tiles of queries that pass a block, over the query heads that share its key head.
template <typename T, int d, int threads, bool causal>
struct Passing {
    const T *Q, *dO;
    const float2* rows;
    int Nq, head, tiles, begin, count, shift;               // first query head; tiles in all, the first one seen, how many

    // Step k's head and tile. Without a mask blocks begin at different tiles, so that they don't all add to the same dQ.
    __device__ __forceinline__ int head_of(int k) const { return head + k / count; }
    __device__ __forceinline__ int tile_of(int k) const { return begin + (causal ? k : k + shift) % count; }

    // Step k's Q, dO and rows' numbers set out for half k % 2 of their places.
    __device__ __forceinline__ void load(int k, unsigned Qs, unsigned dOs, unsigned numbers) const {
        const size_t at = (size_t)head_of(k) * Nq * d;
        const int tile = tile_of(k), stage = k % 2;
        tiles::copy<d, Br, threads>(Qs + stage * Br * d * 2, Q + at, tile * Br, Nq);
        tiles::copy<d, Br, threads>(dOs + stage * Br * d * 2, dO + at, tile * Br, Nq);
        if (threadIdx.x < Br / 2)
            ptx::cp_async_16(numbers + (stage * Br + threadIdx.x * 2) * 8, rows + ((size_t)head_of(k) * tiles + tile) * Br + threadIdx.x * 2, 16);
        ptx::cp_async_commit();
    }
    // Where step k's sums of dQ begin.
    __device__ __forceinline__ size_t sums_at(int k) const { return ((size_t)head_of(k) * tiles + tile_of(k)) * (Br * d / 4); }
};

// S^T becomes P^T, keys by queries. `numbers`: LSE, delta, LSE, delta of two queries; `masked`: some pair may not be seen.
template <bool causal, int m, int n>
__device__ __forceinline__ void weigh(float (&s)[m][n / 8][4], const float4* numbers, float scale2, bool masked, int key, int query, int Nk, int see) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < n / 8; ++j) {
        const float4 two = numbers[4 * j + lane % 4];
#pragma unroll
        for (int i = 0; i < m; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) s[i][j][e] = ptx::exp2_approx(fmaf(s[i][j][e], scale2, -(e % 2 ? two.z : two.x)));
    }
    if (!masked) return;
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int j = 0; j < n / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int k = key + 16 * i + lane / 4 + e / 2 * 8, q = query + 8 * j + lane % 4 * 2 + e % 2;
                if (k >= Nk || (causal && k > q + see)) s[i][j][e] = 0.0f;
            }
}

// dP^T becomes dS^T.
template <int m, int n>
__device__ __forceinline__ void differentiate(float (&dp)[m][n / 8][4], const float (&p)[m][n / 8][4], const float4* numbers) {
#pragma unroll
    for (int j = 0; j < n / 8; ++j) {
        const float4 two = numbers[4 * j + threadIdx.x % 4];
#pragma unroll
        for (int i = 0; i < m; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) dp[i][j][e] = p[i][j][e] * (dp[i][j][e] - (e % 2 ? two.w : two.y));
    }
}

// sums += dS K: a warp has 32 of the tile's queries and 2 d / warps columns. dS lies key by key: .trans turns it.
template <int d, int warps, int Bc, typename T>
__device__ __forceinline__ void add_dq(float4* sums, unsigned dSs, unsigned Ks, T) {
    constexpr int columns = 2 * d / warps;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, half = warp % 2, column = warp / 2 * columns;
    const auto dS_rows = tiles::across<Br>(dSs, 0);
    const auto K_columns = tiles::down<d>(Ks, 0);
    float dq[2][columns / 8][4] = {};
#pragma unroll
    for (int k = 0; k < Bc / 16; ++k) {
        unsigned a[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) ptx::ldmatrix_x4_trans(a[i], dS_rows.at(2 * half + i) + 16 * k * Br * 2);
#pragma unroll
        for (int j = 0; j < columns / 16; ++j) {
            unsigned b[4];
            ptx::ldmatrix_x4_trans(b, K_columns.at(column / 16 + j) + 16 * k * d * 2);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                ptx::mma_m16n8k16(dq[i][2 * j], a[i], b[0], b[1], T());
                ptx::mma_m16n8k16(dq[i][2 * j + 1], a[i], b[2], b[3], T());
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < columns / 8; ++j) ptx::red_add(sums + ((2 * half + i) * (d / 8) + column / 8 + j) * 32 + lane, dq[i][j]);
}

// grid: (ceil(Nk / Bc), heads / group)   block: 32 warps threads; Bc = 16 m warps
// shared: dynamic, 4 Bc d + 2 (4 Br d + 2 Br Bc + 8 Br) bytes: K, V; twice Q, dO,
// dS and the rows' numbers
// A warp owns 16 m keys and makes S^T and dP^T, keys by queries, n queries at a
// time: P^T and dS^T are then A's fragments for dV and dK and stay in registers.
// Only dQ needs what other warps made: dS goes through shared memory, and dQ of
// a tile is added while the next tile's S is made, so one barrier a tile is enough.
template <typename T, int d, int warps, int m, int n, bool causal, bool with_dq, int blocks>
__global__ void __launch_bounds__(32 * warps, blocks)
backward_keys(const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, const T* __restrict__ dO,
              const float2* __restrict__ rows, float4* __restrict__ sums, T* __restrict__ dK, T* __restrict__ dV,
              int Nq, int Nk, int group, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    constexpr int threads = 32 * warps, Bc = 16 * m * warps, tile_bytes = Br * d * 2, ds_bytes = Br * Bc * 2;
    const unsigned Ks = ptx::shared_address(memory), Vs = Ks + Bc * d * 2, Qs = Vs + Bc * d * 2;
    const unsigned dOs = Qs + 2 * tile_bytes, dSs = dOs + 2 * tile_bytes, row_numbers = dSs + 2 * ds_bytes;
    const int first = blockIdx.x * Bc, mine = 16 * m * (threadIdx.x / 32);
    const int see = causal ? Nk - Nq : Nk;                  // query i sees keys up to i + see
    const int query_tiles = (Nq + Br - 1) / Br, begin = max(0, first - see) / Br;
    const Passing<T, d, threads, causal> passing{Q, dO, rows, Nq, (int)blockIdx.y * group, query_tiles, begin, query_tiles - begin,
                                                 (int)blockIdx.x * (Bc / Br)};
    const int steps = (query_tiles - begin) * group;
    const size_t at = (size_t)blockIdx.y * Nk * d;

    tiles::copy<d, Bc, threads>(Ks, K + at, first, Nk);
    tiles::copy<d, Bc, threads>(Vs, V + at, first, Nk);
    passing.load(0, Qs, dOs, row_numbers);
    const auto K_rows = tiles::down<d>(Ks, mine), V_rows = tiles::down<d>(Vs, mine);
    const float scale2 = scale * 1.4426950408889634f;       // exp(x) = 2^(x log2 e)
    float dk[m][d / 8][4] = {}, dv[m][d / 8][4] = {};

    for (int step = 0; step <= steps; ++step) {
        const int stage = step % 2;
        ptx::cp_async_wait<0>();
        __syncthreads();                                    // the tile is here; dS of the one before too; all are done with that one
        if (step + 1 < steps) passing.load(step + 1, Qs, dOs, row_numbers);
        if (with_dq && step > 0) add_dq<d, warps, Bc>(sums + passing.sums_at(step - 1), dSs + (stage ^ 1) * ds_bytes, Ks, T());
        if (step == steps) break;

        const int start = passing.tile_of(step) * Br;
        const bool masked = first + Bc > Nk || (causal && first + mine + 16 * m - 1 > start + see);
        const unsigned Q_tile = Qs + stage * tile_bytes, dO_tile = dOs + stage * tile_bytes;
#pragma unroll
        for (int part = 0; part < Br; part += n) {
            const float4* numbers = reinterpret_cast<const float4*>(memory + (row_numbers - Ks)) + (stage * Br + part) / 2;
            float s[m][n / 8][4], dp[m][n / 8][4];
            unsigned p16[m][n / 16][4], ds16[m][n / 16][4];
            tiles::multiply_rows<d, m, n>(s, K_rows, tiles::across<d>(Q_tile, part), T());
            weigh<causal, m, n>(s, numbers, scale2, masked, first + mine, start + part, Nk, see);
            tiles::pack<m, n>(p16, s, T());
            tiles::multiply_rows<d, m, n>(dp, V_rows, tiles::across<d>(dO_tile, part), T());
            differentiate<m, n>(dp, s, numbers);
            tiles::pack<m, n>(ds16, dp, T());
            if (with_dq) tiles::put<Br, m, n>(memory + (dSs - Ks) + stage * ds_bytes, ds16, mine, part / 8);
            tiles::add_product<d, m, n>(dv, p16, tiles::down<d>(dO_tile, part), T());
            tiles::add_product<d, m, n>(dk, ds16, tiles::down<d>(Q_tile, part), T());
        }
    }

    __syncthreads();                                        // all are done with K and V: dK and dV take their places
    tiles::store_rows<d, m>(dK + at, memory, dk, scale, first, mine, Nk);
    tiles::store_rows<d, m>(dV + at, memory + Bc * d * 2, dv, 1.0f, first, mine, Nk);
}

// grid: (ceil(Nk / Bc), heads / group)   block: 32 warps threads; Bc = 16 warps
// shared: dynamic, as for backward_keys
// For d = 128, where 32 keys a warp would need 256 registers for dK and dV alone:
// two warps share 32 keys. Each makes S^T and dP^T for half of the tile's queries,
// hands them over through shared memory, and owns half of the columns of dK and dV.
template <typename T, int d, int warps, bool causal, bool with_dq, int blocks>
__global__ void __launch_bounds__(32 * warps, blocks)
backward_pairs(const T* __restrict__ Q, const T* __restrict__ K, const T* __restrict__ V, const T* __restrict__ dO,
               const float2* __restrict__ rows, float4* __restrict__ sums, T* __restrict__ dK, T* __restrict__ dV,
               int Nq, int Nk, int group, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    constexpr int threads = 32 * warps, Bc = 16 * warps, tile_bytes = Br * d * 2, ds_bytes = Br * Bc * 2;
    constexpr int m = 2, n = Br / 2, columns = d / 2;       // 32 keys, and what a warp makes of S^T, and of dK and dV
    const unsigned Ks = ptx::shared_address(memory), Vs = Ks + Bc * d * 2, Qs = Vs + Bc * d * 2;
    const unsigned dOs = Qs + 2 * tile_bytes, Ps = dOs + 2 * tile_bytes, dSs = Ps + ds_bytes, row_numbers = dSs + ds_bytes;
    const int half = threadIdx.x / 32 % 2;                  // mine of the queries, and of the columns
    const int first = blockIdx.x * Bc, mine = 32 * (threadIdx.x / 64);
    const int see = causal ? Nk - Nq : Nk;                  // query i sees keys up to i + see
    const int query_tiles = (Nq + Br - 1) / Br, begin = max(0, first - see) / Br;
    const Passing<T, d, threads, causal> passing{Q, dO, rows, Nq, (int)blockIdx.y * group, query_tiles, begin, query_tiles - begin,
                                                 (int)blockIdx.x * (Bc / Br)};
    const int steps = (query_tiles - begin) * group;
    const size_t at = (size_t)blockIdx.y * Nk * d;

    tiles::copy<d, Bc, threads>(Ks, K + at, first, Nk);
    tiles::copy<d, Bc, threads>(Vs, V + at, first, Nk);
    passing.load(0, Qs, dOs, row_numbers);
    const auto K_rows = tiles::down<d>(Ks, mine), V_rows = tiles::down<d>(Vs, mine);
    const float scale2 = scale * 1.4426950408889634f;       // exp(x) = 2^(x log2 e)
    float dk[m][columns / 8][4] = {}, dv[m][columns / 8][4] = {};

    for (int step = 0; step < steps; ++step) {
        const int stage = step % 2;
        ptx::cp_async_wait<0>();
        __syncthreads();                                    // the tile is here; all are done with the one before, its P and dS too
        if (step + 1 < steps) passing.load(step + 1, Qs, dOs, row_numbers);

        const int start = passing.tile_of(step) * Br + half * n;
        const bool masked = first + Bc > Nk || (causal && first + mine + 16 * m - 1 > start + see);
        const unsigned Q_tile = Qs + stage * tile_bytes, dO_tile = dOs + stage * tile_bytes;
        const float4* numbers = reinterpret_cast<const float4*>(memory + (row_numbers - Ks)) + (stage * Br + half * n) / 2;
        unsigned p16[m][n / 16][4], ds16[m][n / 16][4];
        {
            float s[m][n / 8][4], dp[m][n / 8][4];
            tiles::multiply_rows<d, m, n>(s, K_rows, tiles::across<d>(Q_tile, half * n), T());
            weigh<causal, m, n>(s, numbers, scale2, masked, first + mine, start, Nk, see);
            tiles::pack<m, n>(p16, s, T());
            tiles::multiply_rows<d, m, n>(dp, V_rows, tiles::across<d>(dO_tile, half * n), T());
            differentiate<m, n>(dp, s, numbers);
            tiles::pack<m, n>(ds16, dp, T());
        }
        tiles::put<Br, m, n>(memory + (Ps - Ks), p16, mine, half * (n / 8));
        tiles::put<Br, m, n>(memory + (dSs - Ks), ds16, mine, half * (n / 8));
        __syncthreads();                                    // P^T and dS^T are there for all

#pragma unroll
        for (int turn = 0; turn < 2; ++turn) {              // first my queries, then those of the warp that shares my keys
            const int queries = half ^ turn;
            if (turn == 1) {
                const auto P_rows = tiles::down<Br>(Ps, mine), dS_rows = tiles::down<Br>(dSs, mine);
#pragma unroll
                for (int k = 0; k < n / 16; ++k)
#pragma unroll
                    for (int i = 0; i < m; ++i) {
                        ptx::ldmatrix_x4(p16[i][k], P_rows.at(n / 16 * queries + k) + 16 * i * Br * 2);
                        ptx::ldmatrix_x4(ds16[i][k], dS_rows.at(n / 16 * queries + k) + 16 * i * Br * 2);
                    }
            }
            const auto right = [&](tiles::Rows<d> rows_at) { rows_at.flip ^= half * columns * 2; return rows_at; };  // my columns
            tiles::add_product<d, m, n, columns>(dv, p16, right(tiles::down<d>(dO_tile, queries * n)), T());
            tiles::add_product<d, m, n, columns>(dk, ds16, right(tiles::down<d>(Q_tile, queries * n)), T());
        }
        if (with_dq) add_dq<d, warps, Bc>(sums + passing.sums_at(step), dSs, Ks, T());
    }

    __syncthreads();                                        // all are done with K and V: dK and dV take their places
    tiles::store_rows<d, m, columns>(dK + at, memory, dk, scale, first, mine, Nk, half * (columns / 8));
    tiles::store_rows<d, m, columns>(dV + at, memory + Bc * d * 2, dv, 1.0f, first, mine, Nk, half * (columns / 8));
}
