// C = A B on Hopper's tensor cores, one warp loads, eight multiply (sm_90a).
//
// grid:  1-D, as many blocks as multiprocessors; each takes tiles of C in turn
// block: 384 threads: warpgroup 0 loads, 1 and 2 own 64 rows of a tile each
// shared: dynamic, stages (BM + BN) BK 2 + 2 x 16384 bytes
// Am:    tensor map of T (M, K), boxes (BM, 64)
// Bm:    tensor map of T (K, N), boxes (BK, 64)
// Cm:    tensor map of T (M, N), boxes (64, 64); all with the 128-byte swizzle
// The sums are float32 and rounded once. N, K: multiples of 8
#include <wgmma_tiles.cuh>

using T = __half;  // __nv_bfloat16 does as well

constexpr int BM = 128, BN = 256, BK = 64, stages = 4;
constexpr int band = 16;  // tiles of C below each other that run together
constexpr unsigned a_bytes = BM * BK * 2, b_bytes = BK * BN * 2;
constexpr unsigned panel = 64 * 64 * 2;  // 64 rows of 64 columns

// The corner of tile `tile`: `band` tiles downwards, then one to the right.
__device__ __forceinline__ int2 corner(int tile, int down, int right) {
    const int start = tile / (band * right) * band;
    const int height = min(band, down - start), inside = tile % (band * right);
    return make_int2(inside / height * BN, (start + inside % height) * BM);
}

extern "C" __global__ void __launch_bounds__(384, 1)
matmul_specialised(const __grid_constant__ ptx::TensorMap Am,
                   const __grid_constant__ ptx::TensorMap Bm,
                   const __grid_constant__ ptx::TensorMap Cm, int M, int N,
                   int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[2 * stages];
    const unsigned As = ptx::shared_address(memory);
    const unsigned Bs = As + stages * a_bytes, Cs = Bs + stages * b_bytes;
    const unsigned full = ptx::shared_address(bars), empty = full + 8 * stages;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    const int down = (M + BM - 1) / BM, right = (N + BN - 1) / BN;
    const int steps = (K + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(full + 8 * s, 1);
            ptx::mbarrier_init(empty + 8 * s, 2);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there for all
    int stage = 0;
    unsigned parity = 0;

    if (warpgroup == 0) {  // ---- the producer: one thread of it
        ptx::fewer_registers<40>();
        if (threadIdx.x != 0) return;
        for (int tile = blockIdx.x; tile < down * right; tile += gridDim.x) {
            const int2 at = corner(tile, down, right);
            for (int t = 0; t < steps; ++t) {
                const unsigned bar = full + 8 * stage;
                // Both warpgroups are done with the stage.
                ptx::mbarrier_wait_parity(empty + 8 * stage, parity ^ 1);
                ptx::mbarrier_arrive_expect_tx(bar, a_bytes + b_bytes);
                ptx::tma_load_2d(As + stage * a_bytes, &Am, bar, t * BK, at.y);
                for (int p = 0; p < BN / 64; ++p)
                    ptx::tma_load_2d(Bs + stage * b_bytes + p * panel, &Bm,
                                     bar, at.x + 64 * p, t * BK);
                if (++stage == stages) stage = 0, parity ^= 1;
            }
        }
        return;
    }

    ptx::more_registers<232>();  // ---- a consumer: 64 rows of a tile
    const int w = warpgroup - 1;
    const bool first_thread = threadIdx.x % 128 == 0;
    auto free_last = [&] {  // the stage before `stage`
        const int last = stage == 0 ? stages - 1 : stage - 1;
        if (first_thread) ptx::mbarrier_arrive(empty + 8 * last);
    };
    for (int tile = blockIdx.x; tile < down * right; tile += gridDim.x) {
        const int2 at = corner(tile, down, right);
        float c[BN / 2];  // 64 rows of BN columns among 128 threads
        for (int t = 0; t < steps; ++t) {
            ptx::mbarrier_wait_parity(full + 8 * stage, parity);
            const unsigned long long a =
                ptx::wgmma_tile(As + stage * a_bytes + w * panel);
            const unsigned long long b =
                ptx::wgmma_tile(Bs + stage * b_bytes, panel);
            ptx::keep(c);
            ptx::wgmma_fence();
#pragma unroll
            for (int k = 0; k < BK / 16; ++k)  // 32 bytes on in A, 16 rows in B
                ptx::Wgmma<BN, T>::tiles<1>(c, a + k * 32 / 16,
                                            b + k * 16 * 128 / 16,
                                            t > 0 || k > 0);
            ptx::wgmma_commit();
            ptx::wgmma_wait<1>();  // the step before this one is done
            ptx::keep(c);
            if (t > 0) free_last();
            if (++stage == stages) stage = 0, parity ^= 1;
        }
        ptx::wgmma_wait<0>();
        ptx::keep(c);
        free_last();

#pragma unroll
        for (int p = 0; p < BN / 64; ++p) {  // 64 columns at a time
            const unsigned to = Cs + (2 * w + p % 2) * panel;  // places in turn
            if (first_thread) ptx::bulk_wait_read<1>();
            // The copy engine has read this place.
            ptx::named_barrier_sync(1 + w, 128);
            panel_to_shared<T>(to, c, 64 * p);
            ptx::fence_proxy_async();
            // The panel is there, and the copy engine sees it.
            ptx::named_barrier_sync(1 + w, 128);
            if (first_thread) {
                ptx::tma_store_2d(&Cm, to, at.x + 64 * p, at.y + 64 * w);
                ptx::bulk_commit();
            }
        }
    }
    if (first_thread) ptx::bulk_wait<0>();
}
