// C = A B by mma.sync, one warp loads, eight multiply (sm_90a).
//
// grid:  1-D, as many blocks as multiprocessors; each takes tiles of C in turn
// block: 384 threads: warpgroup 0 loads, each warp of 1 and 2 has 64 x 64 of C
// shared: dynamic, stages (BM + BN) BK 2 + BM BN 2 bytes
// Am:    tensor map of T (M, K), boxes (BM, 64)
// Bm:    tensor map of T (K, N), boxes (BK, 64)
// Cm:    tensor map of T (M, N), boxes (64, 64); all with the 128-byte swizzle
// The sums are float32 and rounded once. N, K: multiples of 8
#include <ptx_hopper.cuh>

using T = __half;  // __nv_bfloat16 does as well

constexpr int BM = 128, BN = 256, BK = 64, stages = 3;
constexpr int band = 16;  // tiles of C below each other that run together
constexpr unsigned a_bytes = BM * BK * 2, stage_bytes = a_bytes + BK * BN * 2;
constexpr unsigned panel = 64 * 64 * 2;  // 64 rows of 64 columns

// The corner of tile `tile`: `band` tiles downwards, then one to the right.
__device__ __forceinline__ int2 corner(int tile, int down, int right) {
    const int start = tile / (band * right) * band;
    const int height = min(band, down - start), inside = tile % (band * right);
    return make_int2(inside / height * BN, (start + inside % height) * BM);
}

extern "C" __global__ void __launch_bounds__(384, 1)
matmul_mma(const __grid_constant__ ptx::TensorMap Am,
           const __grid_constant__ ptx::TensorMap Bm,
           const __grid_constant__ ptx::TensorMap Cm, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[2 * stages];
    const unsigned As = ptx::shared_address(memory);
    const unsigned Cs = As + stages * stage_bytes;
    const unsigned full = ptx::shared_address(bars), empty = full + 8 * stages;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    const int down = (M + BM - 1) / BM, right = (N + BN - 1) / BN;
    const int steps = (K + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);
            ptx::mbarrier_init(empty + 8 * s, 8);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there for all
    // The stage in use, its barrier in `full`, the parity of its phase
    unsigned here = As, bar = full, parity = 0;

    if (warpgroup == 0) {  // ---- the producer: one thread of it
        ptx::fewer_registers<24>();
        if (threadIdx.x != 0) return;
        for (int tile = blockIdx.x; tile < down * right; tile += gridDim.x) {
            const int2 at = corner(tile, down, right);
            for (int t = 0; t < steps; ++t) {
                // All eight warps are done with the stage.
                ptx::mbarrier_wait_parity(bar + 8 * stages, parity ^ 1);
                ptx::mbarrier_arrive_expect_tx(bar, stage_bytes);
                ptx::tma_load_2d(here, &Am, bar, t * BK, at.y);
                for (int p = 0; p < BN / 64; ++p)
                    ptx::tma_load_2d(here + a_bytes + p * panel, &Bm, bar,
                                     at.x + 64 * p, t * BK);
                const bool wraps = bar == full + 8 * (stages - 1);
                here = wraps ? As : here + stage_bytes;
                bar = wraps ? full : bar + 8;
                parity ^= wraps;
            }
        }
        return;
    }

    ptx::more_registers<240>();  // ---- a consumer: 64 x 64 of a tile
    const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
    const int top = warp / (BN / 64) * 64, left = warp % (BN / 64) * 64;
    // ldmatrix: lane l names row l % 16 and the left or the right chunk; the
    // engine has put chunk c of row r at c ^ r % 8.
    const unsigned at_a = (top + lane % 16) * 128;
    const unsigned at_b = a_bytes + left / 64 * panel + lane % 16 * 128;
    const unsigned flip = (lane / 16 ^ lane % 8) * 16;
    unsigned a[2][4], b[2][4][4];  // fragments in use, and the ones after them
    auto load_a = [&](unsigned from, int k, int i, int to) {  // 16 by 16
        ptx::ldmatrix_x4(a[to], from + at_a + 16 * i * 128 + (k * 32 ^ flip));
    };
    auto load_b = [&](unsigned from, int k, int j, int to) {  // 16 by 16
        ptx::ldmatrix_x4_trans(
            b[to][j], from + at_b + 16 * k * 128 + (j * 32 ^ flip));
    };
    for (int tile = blockIdx.x; tile < down * right; tile += gridDim.x) {
        float c[4][8][4] = {};
        ptx::mbarrier_wait_parity(bar, parity);
        load_a(here, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < 4; ++j) load_b(here, 0, j, 0);
        for (int t = 0; t < steps; ++t) {
            const bool more = t + 1 < steps;
            const bool wraps = bar == full + 8 * (stages - 1);
            const unsigned next = wraps ? As : here + stage_bytes;
            const unsigned next_bar = wraps ? full : bar + 8;
#pragma unroll
            for (int u = 0; u < 16; ++u) {  // 16 of K, 16 rows, 64 columns
                const int k = u / 4, i = u % 4;
                if (u == 12 && more)
                    ptx::mbarrier_wait_parity(next_bar, parity ^ wraps);
                // A for the next u, a quarter of B for the next k
                if (k < 3 || more)
                    load_b(k < 3 ? here : next, (k + 1) % 4, i, (k + 1) % 2);
                if (u < 15) {
                    load_a(here, (u + 1) / 4, (u + 1) % 4, (u + 1) % 2);
                } else {
                    __syncwarp();  // all lanes have read the stage
                    if (lane == 0) ptx::mbarrier_arrive(bar + 8 * stages);
                    if (more) load_a(next, 0, 0, 0);
                }
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    ptx::mma_m16n8k16(c[i][j], a[u % 2],
                                      b[k % 2][j / 2][j % 2 * 2],
                                      b[k % 2][j / 2][j % 2 * 2 + 1], T());
            }
            here = next;
            bar = next_bar;
            parity ^= wraps;
        }

        const unsigned to = Cs + warp * panel;
        if (lane == 0) ptx::bulk_wait_read<0>();
        __syncwarp();  // the copy engine has read my panel of the tile before
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; j += 2) {  // 16 rows, two chunks
                const float(&x)[4] = c[i][j], (&y)[4] = c[i][j + 1];
                ptx::stmatrix_x4(to + (16 * i + lane % 16) * 128 +
                                     (j * 16 ^ flip),
                                 ptx::pack2(x[0], x[1], T()),
                                 ptx::pack2(x[2], x[3], T()),
                                 ptx::pack2(y[0], y[1], T()),
                                 ptx::pack2(y[2], y[3], T()));
            }
        ptx::fence_proxy_async();
        __syncwarp();  // the panel is there, and the copy engine sees it
        if (lane == 0) {
            const int2 at = corner(tile, down, right);
            ptx::tma_store_2d(&Cm, to, at.x + left, at.y + top);
            ptx::bulk_commit();
        }
    }
    if (lane == 0) ptx::bulk_wait<0>();
}
