// dK and dV (and dQ) on tensor cores: a block keeps 64 keys, the queries come
// by in tiles. S and dP are made keys by queries, so that P and dS are already
// where the next products want them.
//
// grid:   (ceil(Nk / 64), heads)       block: 128 threads, a warp for 16 keys
// shared: dynamic, 41472 bytes: K, V, Q, dO, dS, two numbers for each query
// Q, dO:  __half (heads, Nq, 64), read by every block of their head
// K, V:   __half (heads, Nk, 64), read once
// rows:   float32 (heads, Nq, 2), read: LSE log2 e, delta (ch23_row_numbers)
// dQ:     null, or float32 (heads, Nq, 64), 0 before the launch: each block
//         adds its part, so the order of additions varies
// dK, dV: __half (heads, Nk, 64), written
// causal: 0: every query sees every key; 1: query i sees 0 .. i + Nk - Nq
#include <math_constants.h>
#include <tiles.cuh>

constexpr int d = 64, Br = 64, Bc = 64, threads = 128;
constexpr unsigned tile_bytes = 64 * d * 2;  // of each of the five tiles

// My 16 rows of C, times factor, in 16 bits. Excluded: rows past n.
__device__ void store(__half* out, const float (&c)[1][d / 8][4], float factor,
                      int row, int n) {
    const int lane = threadIdx.x % 32;
    for (int h = 0; h < 2; ++h) {
        const int r = row + lane / 4 + 8 * h;
        if (r >= n) continue;
#pragma unroll
        for (int j = 0; j < d / 8; ++j) {
            *(unsigned*)(out + (size_t)r * d + 8 * j + lane % 4 * 2) =
                ptx::pack2(c[0][j][2 * h] * factor,
                           c[0][j][2 * h + 1] * factor, __half());
        }
    }
}

extern "C" __global__ void __launch_bounds__(threads) keys_stay(
    const __half* Q, const __half* K, const __half* V, const __half* dO,
    const float2* rows, float* dQ, __half* dK, __half* dV, int Nq, int Nk,
    float scale, int causal) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Ks = ptx::shared_address(memory), Vs = Ks + tile_bytes;
    const unsigned Qs = Vs + tile_bytes, dOs = Qs + tile_bytes;
    unsigned char* dSs = memory + 4 * tile_bytes;
    float2* numbers = (float2*)(memory + 5 * tile_bytes);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * Bc, mine = 16 * warp;  // my warp's first key
    const size_t head = blockIdx.y;
    Q += head * Nq * d, dO += head * Nq * d, rows += head * Nq;
    K += head * Nk * d, V += head * Nk * d;

    tiles::copy<d, Bc, threads>(Ks, K, first, Nk);
    tiles::copy<d, Bc, threads>(Vs, V, first, Nk);
    // A's fragments read `down`, B's `across`, and B's `down` with .trans.
    const auto K_rows = tiles::down<d>(Ks, mine);
    const auto V_rows = tiles::down<d>(Vs, mine);
    const auto Q_rows = tiles::across<d>(Qs, 0);
    const auto dO_rows = tiles::across<d>(dOs, 0);
    const auto Q_columns = tiles::down<d>(Qs, 0);
    const auto dO_columns = tiles::down<d>(dOs, 0);

    float dk[1][d / 8][4] = {}, dv[1][d / 8][4] = {};  // my 16 keys
    const float scale2 = scale * 1.4426950408889634f;  // exp(x) = 2^(x log2 e)
    // Query i sees keys up to i + shift; tiles before the first that sees mine
    // are skipped.
    const int shift = causal ? Nk - Nq : Nk;
    const int begin = max(0, first - shift) / Br * Br;
    for (int start = begin; start < Nq; start += Br) {
        __syncthreads();  // all are done with the tile before
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

        // S^T: my keys are A's rows, the tile's queries B's.
        float s[1][Br / 8][4], dp[1][Br / 8][4];
        tiles::multiply_rows<d, 1, Br>(s, K_rows, Q_rows, __half());
        tiles::multiply_rows<d, 1, Br>(dp, V_rows, dO_rows, __half());
#pragma unroll
        for (int j = 0; j < Br / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int key = first + mine + lane / 4 + e / 2 * 8;
                const int query = 8 * j + lane % 4 * 2 + e % 2;  // in its tile
                const float2 its = numbers[query];
                const bool seen = key < Nk && key <= start + query + shift;
                const float x = s[0][j][e] * scale2 - its.x;
                const float p = seen ? ptx::exp2_approx(x) : 0.0f;
                s[0][j][e] = p;
                dp[0][j][e] = p * (dp[0][j][e] - its.y);
            }
        }
        // As accumulators lie, so do A's fragments: P^T and dS^T stay here.
        unsigned p16[1][Br / 16][4], ds16[1][Br / 16][4];
        tiles::pack<1, Br>(p16, s, __half());
        tiles::pack<1, Br>(ds16, dp, __half());
        tiles::add_product<d, 1, Br>(dv, p16, dO_columns, __half());
        tiles::add_product<d, 1, Br>(dk, ds16, Q_columns, __half());

        // dQ = dS K needs all 64 keys of a query: other warps' dS, too.
        if (dQ != nullptr) {
#pragma unroll
            for (int j = 0; j < Br / 8; ++j) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const unsigned at =
                        tiles::place<Br>(mine + lane / 4 + 8 * h, j);
                    *(unsigned*)(dSs + at + lane % 4 * 4) =
                        ds16[0][j / 2][j % 2 * 2 + h];
                }
            }
            __syncthreads();  // dS^T of all 64 keys is there

            // Now a warp has 16 queries. dS^T lies key by key: .trans turns it.
            const auto turned = tiles::across<Br>(Ks + 4 * tile_bytes, 0);
            unsigned a[1][Bc / 16][4];
#pragma unroll
            for (int k = 0; k < Bc / 16; ++k) {
                ptx::ldmatrix_x4_trans(a[0][k],
                                       turned.at(warp) + 16 * k * Br * 2);
            }
            float dq[1][d / 8][4] = {};
            tiles::add_product<d, 1, Bc>(dq, a, tiles::down<d>(Ks, 0),
                                         __half());

            for (int h = 0; h < 2; ++h) {
                const int row = start + 16 * warp + lane / 4 + 8 * h;
                if (row >= Nq) continue;  // Excluded: past the last query.
                float* out = dQ + (head * Nq + row) * d + lane % 4 * 2;
#pragma unroll
                for (int j = 0; j < d / 8; ++j) {
                    atomicAdd(out + 8 * j, scale * dq[0][j][2 * h]);
                    atomicAdd(out + 8 * j + 1, scale * dq[0][j][2 * h + 1]);
                }
            }
        }
    }
    store(dK + head * Nk * d, dk, scale, first + mine, Nk);
    store(dV + head * Nk * d, dv, 1.0f, first + mine, Nk);
}
