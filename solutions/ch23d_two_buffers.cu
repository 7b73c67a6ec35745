// dQ from blocks that keep keys, with one barrier for each tile of queries: dQ
// of a tile is made while the next tile's dS is.
//
// grid:   ceil(Nk / 64)              block: 128 threads, a warp for 16 keys
// shared: dynamic, 66560 bytes: K, V; twice Q, dO, dS and the queries' numbers
// Q, dO:  __half (Nq, 64), read      K, V: __half (Nk, 64), read
// rows:   float32 (Nq, 2), read: LSE log2 e, delta
// dQ:     float32 (Nq, 64), 0 before the launch, added to
// Nk is a multiple of 64.
#include <math_constants.h>
#include <tiles.cuh>

constexpr int d = 64, Br = 64, Bc = 64, threads = 128;
constexpr unsigned tile_bytes = 64 * d * 2;  // of each of the eight tiles

extern "C" __global__ void __launch_bounds__(threads) two_buffers(
    const __half* Q, const __half* K, const __half* V, const __half* dO,
    const float2* rows, float* dQ, int Nq, int Nk, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Ks = ptx::shared_address(memory), Vs = Ks + tile_bytes;
    const unsigned Qs = Vs + tile_bytes, dOs = Qs + 2 * tile_bytes;
    const unsigned dSs = dOs + 2 * tile_bytes;
    float2* numbers = (float2*)(memory + 8 * tile_bytes);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * Bc, mine = 16 * warp;
    const float scale2 = scale * 1.4426950408889634f;  // exp(x) = 2^(x log2 e)

    // Tile t of Q, dO and the numbers sets out for half t % 2 of their places.
    const auto fetch = [&](int t) {
        const unsigned to = t % 2 * tile_bytes;
        tiles::copy<d, Br, threads>(Qs + to, Q, t * Br, Nq);
        tiles::copy<d, Br, threads>(dOs + to, dO, t * Br, Nq);
        if (threadIdx.x < Br) {
            const int row = t * Br + threadIdx.x;
            numbers[t % 2 * Br + threadIdx.x] =
                row < Nq ? rows[row] : make_float2(CUDART_INF_F, 0.0f);
        }
        ptx::cp_async_commit();
    };
    tiles::copy<d, Bc, threads>(Ks, K, first, Nk);
    tiles::copy<d, Bc, threads>(Vs, V, first, Nk);
    fetch(0);

    const int count = (Nq + Br - 1) / Br;
    for (int t = 0; t <= count; ++t) {
        //@solution where tile t's dS goes, and where that of tile t - 1 lies
        const unsigned now = t % 2 * tile_bytes, before = tile_bytes - now;
        //@stub
        //@ const unsigned now = 0, before = 0;
        //@end
        ptx::cp_async_wait<0>();
        __syncthreads();  // tile t is here, and dS of tile t - 1
        if (t + 1 < count) fetch(t + 1);

        if (t > 0) {  // dQ of tile t - 1: my 16 queries, all 64 keys
            unsigned a[1][Bc / 16][4];
            const auto turned = tiles::across<Br>(dSs + before, 0);
            for (int k = 0; k < Bc / 16; ++k) {
                ptx::ldmatrix_x4_trans(a[0][k],
                                       turned.at(warp) + 16 * k * Br * 2);
            }
            float dq[1][d / 8][4] = {};
            tiles::add_product<d, 1, Bc>(dq, a, tiles::down<d>(Ks, 0),
                                         __half());
            for (int e = 0; e < 4; ++e) {
                const int row = (t - 1) * Br + mine + lane / 4 + e / 2 * 8;
                if (row >= Nq) continue;  // Excluded: past the last query.
                for (int j = 0; j < d / 8; ++j) {
                    atomicAdd(dQ + row * d + 8 * j + lane % 4 * 2 + e % 2,
                              scale * dq[0][j][e]);
                }
            }
        }
        if (t == count) break;  // nothing is left but the last dQ

        // dS^T of tile t: my 16 keys, all 64 queries.
        const unsigned from = t % 2 * tile_bytes;
        float s[1][Br / 8][4], dp[1][Br / 8][4];
        tiles::multiply_rows<d, 1, Br>(s, tiles::down<d>(Ks, mine),
                                       tiles::across<d>(Qs + from, 0),
                                       __half());
        tiles::multiply_rows<d, 1, Br>(dp, tiles::down<d>(Vs, mine),
                                       tiles::across<d>(dOs + from, 0),
                                       __half());
        for (int j = 0; j < Br / 8; ++j) {
            for (int h = 0; h < 2; ++h) {
                float ds[2];
                for (int e = 0; e < 2; ++e) {
                    const float2 its =
                        numbers[t % 2 * Br + 8 * j + lane % 4 * 2 + e];
                    const float x = s[0][j][2 * h + e] * scale2 - its.x;
                    ds[e] = ptx::exp2_approx(x) * (dp[0][j][2 * h + e] - its.y);
                }
                const unsigned at =
                    tiles::place<Br>(mine + lane / 4 + 8 * h, j);
                *(unsigned*)(memory + 6 * tile_bytes + now + at +
                             lane % 4 * 4) = ptx::pack2(ds[0], ds[1], __half());
            }
        }
    }
}
