// FlashAttention-3 on Hopper (sm_90a): TMA, mbarriers, wgmma, warps with jobs.
// A template: #include <flash3.cuh> and take flash3<__half, 128, 128, 2, 2, false>.
//
// grid:  blocks, as many as multiprocessors: they draw tiles until none is left
//        (or as many as tiles: then each block takes one)
// block: 128 (1 + consumers) threads: warpgroup 0 loads, each of the others owns
//        64 rows of the query tile
// shared: dynamic, (Q and, where both fit 230000 bytes, O: 64 consumers d each;
//        K and V: stages Bc d each) 2 bytes
// Qm, Om: tensor maps of T (heads, Nq, d), boxes (1, 64, 64), 128-byte swizzle
// Km, Vm: tensor maps of T (heads / group, Nk, d), boxes (1, Bc, 64), the same
// LSE:   float32 (heads, Nq), written           ticket: int32 (1), zero, left zero
// group: query heads that share a key head; causal: query i sees keys up to
// i + Nk - Nq. A row that sees no key gets O = 0 and LSE = -infinity.
// section: heads whose keys fit the L2 together
//
// Ideas that can be switched off, to see what each is worth:
// pingpong: one warpgroup's softmax runs under another's products, by turns
// overlap:  a warpgroup's softmax runs under its own product with the tile before
// longest_first: causal tiles with many keys come first
// own_tiles: a warpgroup leaves out key tiles that only the others' rows see
#pragma once
#include <flash3_schedule.cuh>
#include <softmax_rows.cuh>
#include <wgmma_tiles.cuh>

template <typename T, int d, int Bc, int consumers, int stages, bool causal, bool pingpong, bool overlap, bool longest_first, bool own_tiles>
__device__ __forceinline__ void flash3_block(const ptx::TensorMap& Qm, const ptx::TensorMap& Km, const ptx::TensorMap& Vm, const ptx::TensorMap& Om,
                                             float* __restrict__ LSE, int* __restrict__ ticket, int Nq, int Nk, int heads, int group, int section,
                                             float scale) {
    constexpr int rows = 64 * consumers, panels = d / 64;
    constexpr unsigned q_bytes = 64 * d * 2, kv_bytes = Bc * d * 2;
    constexpr bool apart = 2 * consumers * q_bytes + 2 * stages * kv_bytes <= 230000;   // O has a place of its own, or takes Q's
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[2 * consumers + 4 * stages + 4];
    __shared__ int drawn[2];                                 // tickets, from the producer to the consumers
    const unsigned Qs = ptx::shared_address(memory), Os = Qs + (apart ? consumers * q_bytes : 0), Ks = Os + consumers * q_bytes, Vs = Ks + stages * kv_bytes;
    const unsigned q_full = ptx::shared_address(bars), q_empty = q_full + 8 * consumers, k_full = q_empty + 8 * consumers,
                   k_empty = k_full + 8 * stages, v_full = k_empty + 8 * stages, v_empty = v_full + 8 * stages,
                   t_full = v_empty + 8 * stages, t_empty = t_full + 16;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    const int all = (Nq + rows - 1) / rows * heads;          // tiles in all

    if (threadIdx.x == 0) {
        for (int w = 0; w < consumers; ++w) ptx::mbarrier_init(q_full + 8 * w, 1), ptx::mbarrier_init(q_empty + 8 * w, 128);
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(k_full + 8 * s, 1), ptx::mbarrier_init(k_empty + 8 * s, consumers);
            ptx::mbarrier_init(v_full + 8 * s, 1), ptx::mbarrier_init(v_empty + 8 * s, consumers);
        }
        for (int s = 0; s < 2; ++s) ptx::mbarrier_init(t_full + 8 * s, 1), ptx::mbarrier_init(t_empty + 8 * s, consumers);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();                                         // the barriers are there for all

    if (warpgroup == 0) {                                    // ---- the producer: one thread of it
        ptx::fewer_registers<consumers == 2 ? 40 : 32>();    // 40 + 2 x 232 or 32 + 3 x 160 a thread: what a block of 65536 holds
        if (threadIdx.x != 0) return;
        Turn<stages> k, v;
        Turn<2> t;
        unsigned q_parity = 0;
        auto load_k = [&](int head, int n) {
            ptx::mbarrier_wait_parity(k_empty + 8 * k.stage, k.parity ^ 1);
            ptx::mbarrier_arrive_expect_tx(k_full + 8 * k.stage, kv_bytes);
            for (int p = 0; p < panels; ++p)
                ptx::tma_load_3d(Ks + k.stage * kv_bytes + p * Bc * 128, &Km, k_full + 8 * k.stage, 64 * p, n * Bc, head);
            k.next();
        };
        auto load_v = [&](int head, int n) {
            ptx::mbarrier_wait_parity(v_empty + 8 * v.stage, v.parity ^ 1);
            ptx::mbarrier_arrive_expect_tx(v_full + 8 * v.stage, kv_bytes);
            for (int p = 0; p < panels; ++p)
                ptx::tma_load_3d(Vs + v.stage * kv_bytes + p * Bc * 128, &Vm, v_full + 8 * v.stage, 64 * p, n * Bc, head);
            v.next();
        };
        int mine = blockIdx.x;
        for (;;) {
            ptx::mbarrier_wait_parity(t_empty + 8 * t.stage, t.parity ^ 1);
            drawn[t.stage] = mine;
            ptx::mbarrier_arrive(t_full + 8 * t.stage);      // the consumers may read it
            t.next();
            if (mine >= all) return;
            const int next = gridDim.x + atomicInc(reinterpret_cast<unsigned*>(ticket), all - 1);   // `all` draws in all: the last leaves zero
            const Work work = work_of<Bc, rows, causal, longest_first>(mine, heads, section, Nq, Nk);
            mine = next;
            if (work.tiles == 0) continue;
            const int kv = work.head / group;
            load_k(kv, work.tiles - 1);
            for (int w = 0; w < consumers; ++w) {
                ptx::mbarrier_wait_parity(q_empty + 8 * w, q_parity ^ 1);
                ptx::mbarrier_arrive_expect_tx(q_full + 8 * w, q_bytes);
                for (int p = 0; p < panels; ++p)
                    ptx::tma_load_3d(Qs + w * q_bytes + p * 64 * 128, &Qm, q_full + 8 * w, 64 * p, work.first + 64 * w, work.head);
            }
            q_parity ^= 1;
            for (int n = work.tiles - 2; n >= 0; --n) {
                load_k(kv, n);
                load_v(kv, n + 1);
            }
            load_v(kv, 0);
        }
        return;
    }

    // ---- a consumer: 64 rows of each query tile
    ptx::more_registers<consumers == 2 ? 232 : 160>();
    const int w = warpgroup - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int next_group = w == consumers - 1 ? 0 : w + 1;
    const float scale2 = scale * 1.4426950408889634f;        // exp(x) = exp2(x log2 e)
    const unsigned long long q_tile = ptx::wgmma_tile(Qs + w * q_bytes);
    Turn<stages> k, v;
    Turn<2> t;
    unsigned q_parity = 0;
    if (pingpong && w == consumers - 1) ptx::named_barrier_arrive(1, 256);   // the first group may begin

    for (;;) {
        ptx::mbarrier_wait_parity(t_full + 8 * t.stage, t.parity);
        const int mine = drawn[t.stage];
        ptx::named_barrier_sync(8 + w, 128);                 // all my threads have read it
        if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(t_empty + 8 * t.stage);
        t.next();
        if (mine >= all) break;
        const Work work = work_of<Bc, rows, causal, longest_first>(mine, heads, section, Nq, Nk);
        const int row0 = work.first + 64 * w + 16 * warp + lane / 4, see = Nk - Nq;   // my rows: row0, row0 + 8

        float o[d / 2];                                      // columns 8 j + lane % 4 * 2 (+ 1) of rows row0, row0 + 8
        float m[2] = {-CUDART_INF_F, -CUDART_INF_F}, l[2] = {0.0f, 0.0f};

        if (work.tiles > 0) {
            float s[Bc / 2];
            unsigned P[Bc / 4];

            auto scores = [&]() {                            // S = Q K^T of the ring's next K, in the background
                const unsigned long long k_tile = ptx::wgmma_tile(Ks + k.stage * kv_bytes);
#pragma unroll
                for (int i = 0; i < d / 16; ++i)
                    ptx::Wgmma<Bc, T>::template tiles<0>(s, q_tile + (i / 4 * 64 * 128 + i % 4 * 32) / 16, k_tile + (i / 4 * Bc * 128 + i % 4 * 32) / 16, i > 0);
            };
            auto values = [&](int add) {                     // O += P V
                const unsigned long long v_tile = ptx::wgmma_tile(Vs + v.stage * kv_bytes, Bc * 128);
#pragma unroll
                for (int i = 0; i < Bc / 16; ++i)
                    ptx::Wgmma<d, T>::template registers<1>(o, reinterpret_cast<const unsigned(&)[4]>(P[4 * i]), v_tile + i * 16 * 128 / 16, i > 0 || add);
            };
            auto mask = [&](int n) {                         // only tiles that need it
                if (n * Bc + Bc > Nk || (causal && n * Bc + Bc - 1 > work.first + 64 * w + see)) mask_keys(s, n * Bc, Nk, causal, row0 + see);
            };
            auto free_k = [&] {                              // one arrival a warpgroup
                if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(k_empty + 8 * k.stage);
                k.next();
            };
            auto free_v = [&] {
                if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(v_empty + 8 * v.stage);
                v.next();
            };

            auto end_tile = [&](int add) {                   // O += P V, and wait for it
                ptx::mbarrier_wait_parity(v_full + 8 * v.stage, v.parity);
                ptx::keep(o);
                ptx::keep(P);
                ptx::wgmma_fence();
                values(add);
                ptx::wgmma_commit();
                ptx::wgmma_wait<0>();
                ptx::keep(o);
                ptx::keep(P);
                free_v();
            };
            auto begin_scores = [&] {                        // when K is there, and it is my turn
                ptx::mbarrier_wait_parity(k_full + 8 * k.stage, k.parity);
                if (pingpong) ptx::named_barrier_sync(1 + w, 256);
                ptx::keep(s);
                ptx::keep(o);
                ptx::keep(P);
                ptx::wgmma_fence();
                scores();
                ptx::wgmma_commit();
            };
            auto pass_turn = [&] { if (pingpong) ptx::named_barrier_arrive(1 + next_group, 256); };

            int tiles = work.tiles;                          // that I compute: one at least
            if constexpr (causal && own_tiles) {
                const int last = min(work.first + 64 * w + 64, Nq) - 1;
                tiles = work.first + 64 * w >= Nq ? 1 : max(1, min(tiles, (last + see) / Bc + 1));
                for (int n = work.tiles; n > tiles; --n) {   // the others' tiles: once they are there, I have no need of them
                    ptx::mbarrier_wait_parity(k_full + 8 * k.stage, k.parity);
                    if (pingpong) ptx::named_barrier_sync(1 + w, 256);
                    pass_turn();
                    free_k();
                    ptx::mbarrier_wait_parity(v_full + 8 * v.stage, v.parity);
                    free_v();
                }
            }
            float shrink[2];
            ptx::mbarrier_wait_parity(q_full + 8 * w, q_parity);
            q_parity ^= 1;
            begin_scores();
            pass_turn();
            ptx::wgmma_wait<0>();
            ptx::keep(s);
            free_k();
            mask(tiles - 1);
            softmax_rows(s, m, l, shrink, scale2);
            pack_rows<T>(P, s);
#pragma unroll 1
            for (int n = tiles - 2; n >= 0; --n) {           // P is that of tile n + 1
                if constexpr (overlap) {                     // both products begun, S awaited
                    begin_scores();
                    ptx::mbarrier_wait_parity(v_full + 8 * v.stage, v.parity);
                    values(n < tiles - 2);
                    ptx::wgmma_commit();
                    pass_turn();
                    ptx::wgmma_wait<1>();                    // S is here, O not yet
                    ptx::keep(s);
                    free_k();
                    mask(n);
                    softmax_rows(s, m, l, shrink, scale2);   // under O += P V
                    ptx::wgmma_wait<0>();
                    ptx::keep(o);
                    ptx::keep(P);
                    free_v();
                } else {                                     // one after the other
                    end_tile(n < tiles - 2);
                    begin_scores();
                    pass_turn();
                    ptx::wgmma_wait<0>();
                    ptx::keep(s);
                    free_k();
                    mask(n);
                    softmax_rows(s, m, l, shrink, scale2);
                }
                scale_rows(o, shrink);
                pack_rows<T>(P, s);
            }
            if (apart) ptx::mbarrier_arrive(q_empty + 8 * w);   // Q may be overwritten
            end_tile(tiles > 1);
        } else {
#pragma unroll
            for (int i = 0; i < d / 2; ++i) o[i] = 0.0f;
        }

        // ---- O through shared memory by TMA, LSE directly
        float inverse[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float sum = row_sum(l[h]);
            inverse[h] = sum > 0.0f ? 1.0f / sum : 0.0f;
            if (lane % 4 == 0 && row0 + 8 * h < Nq)
                LSE[(size_t)work.head * Nq + row0 + 8 * h] = sum > 0.0f ? m[h] * scale + logf(sum) : -CUDART_INF_F;
        }
        if (threadIdx.x % 128 == 0) ptx::bulk_wait_read<0>();
        ptx::named_barrier_sync(8 + w, 128);                 // the copy engine has read my last O
#pragma unroll
        for (int p = 0; p < panels; ++p) panel_to_shared<T>(Os + w * q_bytes + p * 64 * 128, o, 64 * p, inverse[0], inverse[1]);
        ptx::fence_proxy_async();
        ptx::named_barrier_sync(8 + w, 128);                 // O is in shared memory, the copy engine sees it
        if (threadIdx.x % 128 == 0) {
            for (int p = 0; p < panels; ++p)
                ptx::tma_store_3d(&Om, Os + w * q_bytes + p * 64 * 128, 64 * p, work.first + 64 * w, work.head);
            ptx::bulk_commit();
            if (!apart) ptx::bulk_wait_read<0>();
        }
        if (!apart && work.tiles > 0) ptx::mbarrier_arrive(q_empty + 8 * w);
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait<0>();
}

template <typename T, int d, int Bc, int consumers, int stages, bool causal, bool pingpong = true, bool overlap = true, bool longest_first = true,
          bool own_tiles = false>
__global__ void __launch_bounds__(128 * (consumers + 1), 1)
flash3(const __grid_constant__ ptx::TensorMap Qm, const __grid_constant__ ptx::TensorMap Km,
       const __grid_constant__ ptx::TensorMap Vm, const __grid_constant__ ptx::TensorMap Om, float* __restrict__ LSE,
       int* __restrict__ ticket, int Nq, int Nk, int heads, int group, int section, float scale) {
    flash3_block<T, d, Bc, consumers, stages, causal, pingpong, overlap, longest_first, own_tiles>(Qm, Km, Vm, Om, LSE, ticket, Nq, Nk, heads, group,
                                                                                                  section, scale);
}
