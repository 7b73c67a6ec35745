// dQ, dK and dV in one pass: five products for each tile, not seven.
//
// grid:   ceil(Nk / 64)              block: 128 threads, a warp for 16 keys
// shared: dynamic, 41472 bytes: K, V, Q, dO, dS, two numbers for each query
// Q, dO:  __half (Nq, 64), read      K, V: __half (Nk, 64), read
// rows:   float32 (Nq, 2), read: LSE log2 e, delta
// dQ:     float32 (Nq, 64), 0 before the launch, added to
// dK, dV: float32 (Nk, 64), written. Nk is a multiple of 64.
#include <math_constants.h>
#include <tiles.cuh>

constexpr int d = 64, Br = 64, Bc = 64, threads = 128;
constexpr unsigned tile_bytes = 64 * d * 2;  // of each of the five tiles

// s becomes P and dp dS, of one pair, from the query's numbers (given, below).
__device__ void weigh(float& s, float& dp, float2 its, float scale2);

// put(place, number) for each number of my 16 rows of C, n rows in all (given).
template <typename Put>
__device__ void each(const float (&c)[1][d / 8][4], int row, int n, Put put);

extern "C" __global__ void __launch_bounds__(threads) five_products(
    const __half* Q, const __half* K, const __half* V, const __half* dO,
    const float2* rows, float* dQ, float* dK, float* dV, int Nq, int Nk,
    float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Ks = ptx::shared_address(memory), Vs = Ks + tile_bytes;
    const unsigned Qs = Vs + tile_bytes, dOs = Qs + tile_bytes;
    const unsigned dSs = dOs + tile_bytes;
    float2* numbers = (float2*)(memory + 5 * tile_bytes);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * Bc, mine = 16 * warp;
    tiles::copy<d, Bc, threads>(Ks, K, first, Nk);
    tiles::copy<d, Bc, threads>(Vs, V, first, Nk);

    float dk[1][d / 8][4] = {}, dv[1][d / 8][4] = {};  // my 16 keys
    const float scale2 = scale * 1.4426950408889634f;  // exp(x) = 2^(x log2 e)
    for (int start = 0; start < Nq; start += Br) {
        tiles::copy<d, Br, threads>(Qs, Q, start, Nq);
        tiles::copy<d, Br, threads>(dOs, dO, start, Nq);
        if (threadIdx.x < Br) {
            const int row = start + threadIdx.x;
            numbers[threadIdx.x] =
                row < Nq ? rows[row] : make_float2(CUDART_INF_F, 0.0f);
        }
        ptx::cp_async_commit();
        ptx::cp_async_wait<0>();
        __syncthreads();  // Q, dO and their numbers are here (K and V, too)

        // Keys by queries: P^T and dS^T of my 16 keys, then dV and dK.
        float s[1][Br / 8][4], dp[1][Br / 8][4];
        tiles::multiply_rows<d, 1, Br>(s, tiles::down<d>(Ks, mine),
                                       tiles::across<d>(Qs, 0), __half());
        tiles::multiply_rows<d, 1, Br>(dp, tiles::down<d>(Vs, mine),
                                       tiles::across<d>(dOs, 0), __half());
        for (int j = 0; j < Br / 8; ++j) {
            for (int e = 0; e < 4; ++e) {
                weigh(s[0][j][e], dp[0][j][e],
                      numbers[8 * j + lane % 4 * 2 + e % 2], scale2);
            }
        }
        unsigned p16[1][Br / 16][4], ds16[1][Br / 16][4];
        tiles::pack<1, Br>(p16, s, __half());
        tiles::pack<1, Br>(ds16, dp, __half());
        tiles::add_product<d, 1, Br>(dv, p16, tiles::down<d>(dOs, 0), __half());
        tiles::add_product<d, 1, Br>(dk, ds16, tiles::down<d>(Qs, 0), __half());

        // Now a warp has 16 queries, and needs their dS for all 64 keys as A's
        // fragments: a[0][k] for keys 16 k .. 16 k + 15.
        unsigned a[1][Bc / 16][4];
        // TODO (13 lines): dS from the other warps through dSs, not made once
        //   more
        float s2[1][Bc / 8][4], dp2[1][Bc / 8][4];
        tiles::multiply_rows<d, 1, Bc>(s2, tiles::down<d>(Qs, mine),
                                       tiles::across<d>(Ks, 0), __half());
        tiles::multiply_rows<d, 1, Bc>(dp2, tiles::down<d>(dOs, mine),
                                       tiles::across<d>(Vs, 0), __half());
        for (int j = 0; j < Bc / 8; ++j) {
            for (int e = 0; e < 4; ++e) {
                weigh(s2[0][j][e], dp2[0][j][e],
                      numbers[mine + lane / 4 + e / 2 * 8], scale2);
            }
        }
        tiles::pack<1, Bc>(a, dp2, __half());
        __syncthreads();  // all are done with Q and dO
        float dq[1][d / 8][4] = {};
        tiles::add_product<d, 1, Bc>(dq, a, tiles::down<d>(Ks, 0), __half());
        each(dq, start + mine, Nq, [&](int at, float x) {
            atomicAdd(dQ + at, scale * x);  // other blocks have other keys
        });
    }
    each(dk, first + mine, Nk, [&](int at, float x) { dK[at] = scale * x; });
    each(dv, first + mine, Nk, [&](int at, float x) { dV[at] = x; });
}

__device__ void weigh(float& s, float& dp, float2 its, float scale2) {
    s = ptx::exp2_approx(s * scale2 - its.x);
    dp = s * (dp - its.y);
}

template <typename Put>
__device__ void each(const float (&c)[1][d / 8][4], int row, int n, Put put) {
    const int lane = threadIdx.x % 32;
    for (int e = 0; e < 4; ++e) {
        const int r = row + lane / 4 + e / 2 * 8;
        if (r >= n) continue;  // Excluded: rows past the last one.
        for (int j = 0; j < d / 8; ++j) {
            put(r * d + 8 * j + lane % 4 * 2 + e % 2, c[0][j][e]);
        }
    }
}
