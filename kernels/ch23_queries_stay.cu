// dQ on tensor cores without atomics: a block keeps 64 queries, the keys come
// by in tiles. S and dP are made queries by keys: dS is where dS K wants it.
//
// grid:   (ceil(Nq / 64), heads)     block: 128 threads, a warp for 16 queries
// shared: dynamic, 32768 bytes: Q, dO, K, V
// Q, dO:  __half (heads, Nq, 64), read once
// K, V:   __half (heads, Nk, 64), read by every block of their head
// rows:   float32 (heads, Nq, 2), read: LSE log2 e, delta (ch23_row_numbers)
// dQ:     float32 (heads, Nq, 64), written
// causal: 0: every query sees every key; 1: query i sees 0 .. i + Nk - Nq
#include <math_constants.h>
#include <tiles.cuh>

constexpr int d = 64, Br = 64, Bc = 64, threads = 128;
constexpr unsigned tile_bytes = 64 * d * 2;  // of each of the four tiles

extern "C" __global__ void __launch_bounds__(threads) queries_stay(
    const __half* Q, const __half* K, const __half* V, const __half* dO,
    const float2* rows, float* dQ, int Nq, int Nk, float scale, int causal) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Qs = ptx::shared_address(memory), dOs = Qs + tile_bytes;
    const unsigned Ks = dOs + tile_bytes, Vs = Ks + tile_bytes;
    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * 16;
    const int first = blockIdx.x * Br;
    const size_t head = blockIdx.y;
    Q += head * Nq * d, dO += head * Nq * d, rows += head * Nq;
    K += head * Nk * d, V += head * Nk * d, dQ += head * Nq * d;

    tiles::copy<d, Br, threads>(Qs, Q, first, Nq);
    tiles::copy<d, Br, threads>(dOs, dO, first, Nq);
    // A's fragments read `down`, B's `across`, and B's `down` with .trans.
    const auto Q_rows = tiles::down<d>(Qs, mine);
    const auto dO_rows = tiles::down<d>(dOs, mine);
    const auto K_rows = tiles::across<d>(Ks, 0);
    const auto V_rows = tiles::across<d>(Vs, 0);
    const auto K_columns = tiles::down<d>(Ks, 0);
    float2 its[2];  // LSE and delta of rows lane / 4 and lane / 4 + 8
    for (int h = 0; h < 2; ++h) {
        const int row = first + mine + lane / 4 + 8 * h;
        its[h] = row < Nq ? rows[row] : make_float2(CUDART_INF_F, 0.0f);
    }

    float dq[1][d / 8][4] = {};                        // my 16 queries
    const float scale2 = scale * 1.4426950408889634f;  // exp(x) = 2^(x log2 e)
    // Query i sees keys up to i + shift; the block sees the first `keys`.
    const int shift = causal ? Nk - Nq : Nk;
    const int keys = min(Nk, min(first + Br, Nq) + shift);
    for (int start = 0; start < keys; start += Bc) {
        __syncthreads();  // all are done with the tile before
        tiles::copy<d, Bc, threads>(Ks, K, start, Nk);
        tiles::copy<d, Bc, threads>(Vs, V, start, Nk);
        ptx::cp_async_commit();
        ptx::cp_async_wait<0>();
        __syncthreads();  // K and V are here (Q and dO, too)

        float s[1][Bc / 8][4], dp[1][Bc / 8][4];
        tiles::multiply_rows<d, 1, Bc>(s, Q_rows, K_rows, __half());
        tiles::multiply_rows<d, 1, Bc>(dp, dO_rows, V_rows, __half());
#pragma unroll
        for (int j = 0; j < Bc / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int query = first + mine + lane / 4 + e / 2 * 8;
                const int key = start + 8 * j + lane % 4 * 2 + e % 2;
                const bool seen = key < Nk && key <= query + shift;
                const float x = s[0][j][e] * scale2 - its[e / 2].x;
                const float p = seen ? ptx::exp2_approx(x) : 0.0f;
                dp[0][j][e] = p * (dp[0][j][e] - its[e / 2].y);
            }
        }
        unsigned ds16[1][Bc / 16][4];  // A's fragments again, queries by keys
        tiles::pack<1, Bc>(ds16, dp, __half());
        tiles::add_product<d, 1, Bc>(dq, ds16, K_columns, __half());
    }
    ptx::cp_async_wait<0>();  // without a key in sight, Q is still on its way

    for (int h = 0; h < 2; ++h) {
        const int row = first + mine + lane / 4 + 8 * h;
        if (row >= Nq) continue;  // Excluded: queries past the last one.
#pragma unroll
        for (int j = 0; j < d / 8; ++j) {
            float* to = dQ + (size_t)row * d + 8 * j + lane % 4 * 2;
            *(float2*)to = make_float2(scale * dq[0][j][2 * h],
                                       scale * dq[0][j][2 * h + 1]);
        }
    }
}
