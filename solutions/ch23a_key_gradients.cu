// dK and dV on tensor cores: a block keeps 64 keys, the queries come by.
//
// grid:   ceil(Nk / 64)              block: 128 threads, a warp for 16 keys
// shared: dynamic, 33280 bytes: K, V, Q, dO, two numbers for each query
// Q, dO:  __half (Nq, 64), read      K, V: __half (Nk, 64), read
// rows:   float32 (Nq, 2), read: LSE log2 e, delta
// dK, dV: float32 (Nk, 64), written
#include <math_constants.h>
#include <tiles.cuh>

constexpr int d = 64, Br = 64, Bc = 64, threads = 128;
constexpr unsigned tile_bytes = 64 * d * 2;  // of each of the four tiles

// My warp's 16 rows of C, times factor, to rows row .. of out (given, below).
__device__ void store(float* out, const float (&c)[1][d / 8][4], float factor,
                      int row, int n);

extern "C" __global__ void __launch_bounds__(threads) key_gradients(
    const __half* Q, const __half* K, const __half* V, const __half* dO,
    const float2* rows, float* dK, float* dV, int Nq, int Nk, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned Ks = ptx::shared_address(memory), Vs = Ks + tile_bytes;
    const unsigned Qs = Vs + tile_bytes, dOs = Qs + tile_bytes;
    float2* numbers = (float2*)(memory + 4 * tile_bytes);

    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * 16;
    const int first = blockIdx.x * Bc;  // the block's first key
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
    for (int start = 0; start < Nq; start += Br) {
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

        // Keys by queries: s[0][j][e] and dp[0][j][e] are of key
        // lane / 4 + e / 2 * 8 of my 16 and query 8 j + lane % 4 * 2 + e % 2.
        float s[1][Br / 8][4], dp[1][Br / 8][4];
        tiles::multiply_rows<d, 1, Br>(s, K_rows, Q_rows, __half());
        tiles::multiply_rows<d, 1, Br>(dp, V_rows, dO_rows, __half());
        //@solution P over s, dS over dp (keys past Nk: theirs isn't stored)
        for (int j = 0; j < Br / 8; ++j) {
            for (int e = 0; e < 4; ++e) {
                const float2 its = numbers[8 * j + lane % 4 * 2 + e % 2];
                const float p = ptx::exp2_approx(s[0][j][e] * scale2 - its.x);
                s[0][j][e] = p;
                dp[0][j][e] = p * (dp[0][j][e] - its.y);
            }
        }
        //@end
        //@solution both in 16 bits, where A's fragments lie; then dV and dK
        unsigned p16[1][Br / 16][4], ds16[1][Br / 16][4];
        tiles::pack<1, Br>(p16, s, __half());
        tiles::pack<1, Br>(ds16, dp, __half());
        tiles::add_product<d, 1, Br>(dv, p16, dO_columns, __half());
        tiles::add_product<d, 1, Br>(dk, ds16, Q_columns, __half());
        //@stub
        //@ unsigned p16[1][Br / 16][4];
        //@ tiles::pack<1, Br>(p16, s, __half());
        //@ tiles::add_product<d, 1, Br>(dv, p16, Q_columns, __half());
        //@end
    }
    store(dK, dk, scale, first + mine, Nk);
    store(dV, dv, 1.0f, first + mine, Nk);
}

__device__ void store(float* out, const float (&c)[1][d / 8][4], float factor,
                      int row, int n) {
    const int lane = threadIdx.x % 32;
    for (int h = 0; h < 2; ++h) {
        const int r = row + lane / 4 + 8 * h;
        if (r >= n) continue;  // Excluded: rows past the last one.
        for (int j = 0; j < d / 8; ++j) {
            *(float2*)(out + r * d + 8 * j + lane % 4 * 2) = make_float2(
                c[0][j][2 * h] * factor, c[0][j][2 * h + 1] * factor);
        }
    }
}
