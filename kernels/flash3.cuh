// FlashAttention-3 on Hopper (sm_90a): TMA, mbarriers, wgmma, warps with jobs.
// A template: #include <flash3.cuh> and take flash3<__half, 128, 128, 2, false>.
//
// grid:  blocks, as many as multiprocessors   block: 128 (1 + consumers) threads:
//        warpgroup 0 loads, each of the others owns 64 rows of the query tile
// shared: dynamic, flash3_bytes(d, Bc, consumers, stages)
// Qm, Om: tensor maps of T (heads, Nq, d), boxes (1, 64, 64), 128-byte swizzle
// Km, Vm: tensor maps of T (heads / group, Nk, d), boxes (1, Bc, 64), the same
// LSE:   float32 (heads, Nq), written           tickets: int32 (2), zeros, left zeros
// group: query heads that share a key head; causal: query i sees keys up to
// i + Nk - Nq. A row that sees no key gets O = 0 and LSE = -infinity.
// section: heads whose keys fit the L2 together; causal tiles are taken longest
// first within it.
#pragma once
#include <math_constants.h>
#include <wgmma_tiles.cuh>

// One tile's place in the work: which head, which rows, how many key tiles.
struct Work {
    int head, first, tiles;
};

template <int Bc, int rows, bool causal>
__device__ __forceinline__ Work work_of(int ticket, int heads, int section, int Nq, int Nk) {
    const int row_tiles = (Nq + rows - 1) / rows;
    int head, tile;
    if (causal) {                                            // a section's heads, their last rows first
        const int part = ticket / (section * row_tiles), rest = ticket % (section * row_tiles);
        const int wide = min(section, heads - part * section);
        head = part * section + rest % wide;
        tile = row_tiles - 1 - rest / wide;
    } else {
        head = ticket / row_tiles;
        tile = ticket % row_tiles;
    }
    const int first = tile * rows;
    const int keys = causal ? max(0, min(Nk, min(first + rows, Nq) + Nk - Nq)) : Nk;
    return {head, first, (keys + Bc - 1) / Bc};
}

// The ring's place: which stage, and the parity of its phase.
template <int stages>
struct Turn {
    int stage = 0;
    unsigned parity = 0;
    __device__ __forceinline__ void next() {
        if (++stage == stages) stage = 0, parity ^= 1;
    }
};

template <typename T, int d, int Bc, int consumers, int stages, bool causal, bool pingpong = true>
__global__ void __launch_bounds__(128 * (consumers + 1), 1)
flash3(const __grid_constant__ ptx::TensorMap Qm, const __grid_constant__ ptx::TensorMap Km,
       const __grid_constant__ ptx::TensorMap Vm, const __grid_constant__ ptx::TensorMap Om, float* __restrict__ LSE,
       int* __restrict__ tickets, int Nq, int Nk, int heads, int group, int section, float scale) {
    constexpr int rows = 64 * consumers, panels = d / 64;
    constexpr unsigned q_bytes = 64 * d * 2, kv_bytes = Bc * d * 2;
    constexpr bool apart = 2 * consumers * q_bytes + 2 * stages * kv_bytes <= 230000;   // O has a place of its own, or takes Q's
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bars[2 * consumers + 4 * stages + 4];
    __shared__ int ticket_box[2];
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
        ptx::fewer_registers<24>();
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
        for (int ticket = blockIdx.x;;) {
            ptx::mbarrier_wait_parity(t_empty + 8 * t.stage, t.parity ^ 1);
            ticket_box[t.stage] = ticket;
            ptx::mbarrier_arrive(t_full + 8 * t.stage);      // the consumers may read it
            t.next();
            if (ticket >= all) break;
            const int after = gridDim.x + atomicAdd(&tickets[0], 1);
            const Work work = work_of<Bc, rows, causal>(ticket, heads, section, Nq, Nk);
            ticket = after;
            if (work.tiles == 0) continue;
            load_k(work.head / group, work.tiles - 1);
            for (int w = 0; w < consumers; ++w) {
                ptx::mbarrier_wait_parity(q_empty + 8 * w, q_parity ^ 1);
                ptx::mbarrier_arrive_expect_tx(q_full + 8 * w, q_bytes);
                for (int p = 0; p < panels; ++p)
                    ptx::tma_load_3d(Qs + w * q_bytes + p * 64 * 128, &Qm, q_full + 8 * w, 64 * p, work.first + 64 * w, work.head);
            }
            q_parity ^= 1;
            for (int n = work.tiles - 2; n >= 0; --n) {
                load_k(work.head / group, n);
                load_v(work.head / group, n + 1);
            }
            load_v(work.head / group, 0);
        }
        __threadfence();                                     // my tickets before my end, for whoever sees it
        if (atomicAdd(&tickets[1], 1) == gridDim.x - 1) {    // the last block leaves zeros
            __threadfence();
            tickets[0] = tickets[1] = 0;
        }
        return;
    }

    // ---- a consumer: 64 rows of each query tile
    ptx::more_registers<consumers == 2 ? 240 : 160>();
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
        const int ticket = ticket_box[t.stage];
        ptx::named_barrier_sync(8 + w, 128);                 // all my threads have read it
        if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(t_empty + 8 * t.stage);
        t.next();
        if (ticket >= all) break;
        const Work work = work_of<Bc, rows, causal>(ticket, heads, section, Nq, Nk);
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
            auto mask = [&](int n) {
                const int start = n * Bc;
                if (start + Bc > Nk || (causal && start + Bc - 1 > work.first + 64 * w + see)) {
#pragma unroll
                    for (int i = 0; i < Bc / 2; ++i) {
                        const int key = start + i / 4 * 8 + lane % 4 * 2 + i % 2, row = row0 + i / 2 % 2 * 8;
                        if (key >= Nk || (causal && key > row + see)) s[i] = -CUDART_INF_F;
                    }
                }
            };
            auto softmax = [&](float (&shrink)[2]) {         // s becomes exp, m and l move on
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float top = m[h];
#pragma unroll
                    for (int i = 0; i < Bc / 8; ++i) top = fmaxf(top, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
                    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
                    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
                    const float safe = top == -CUDART_INF_F ? 0.0f : top * scale2;
                    shrink[h] = ptx::exp2_approx(m[h] * scale2 - safe);
                    m[h] = top;
                    float sum = 0.0f;
#pragma unroll
                    for (int i = 0; i < Bc / 8; ++i) {
                        s[4 * i + 2 * h] = ptx::exp2_approx(fmaf(s[4 * i + 2 * h], scale2, -safe));
                        s[4 * i + 2 * h + 1] = ptx::exp2_approx(fmaf(s[4 * i + 2 * h + 1], scale2, -safe));
                        sum += s[4 * i + 2 * h] + s[4 * i + 2 * h + 1];
                    }
                    l[h] = l[h] * shrink[h] + sum;
                }
            };
            auto pack = [&]() {                              // the accumulator's layout is A's
#pragma unroll
                for (int i = 0; i < Bc / 4; ++i) P[i] = ptx::pack2(s[2 * i], s[2 * i + 1], T());
            };

            float shrink[2];
            ptx::mbarrier_wait_parity(q_full + 8 * w, q_parity);
            q_parity ^= 1;
            ptx::mbarrier_wait_parity(k_full + 8 * k.stage, k.parity);
            if (pingpong) ptx::named_barrier_sync(1 + w, 256);
            ptx::keep(s);
            ptx::wgmma_fence();
            scores();
            ptx::wgmma_commit();
            if (pingpong) ptx::named_barrier_arrive(1 + next_group, 256);
            ptx::wgmma_wait<0>();
            ptx::keep(s);
            if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(k_empty + 8 * k.stage);
            k.next();
            mask(work.tiles - 1);
            softmax(shrink);
            pack();

#pragma unroll 1
            for (int n = work.tiles - 2; n >= 0; --n) {
                ptx::mbarrier_wait_parity(k_full + 8 * k.stage, k.parity);
                if (pingpong) ptx::named_barrier_sync(1 + w, 256);
                ptx::keep(s);
                ptx::keep(o);
                ptx::keep(P);
                ptx::wgmma_fence();
                scores();
                ptx::wgmma_commit();
                ptx::mbarrier_wait_parity(v_full + 8 * v.stage, v.parity);
                values(n < work.tiles - 2);
                ptx::wgmma_commit();
                if (pingpong) ptx::named_barrier_arrive(1 + next_group, 256);
                ptx::wgmma_wait<1>();
                ptx::keep(s);
                if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(k_empty + 8 * k.stage);
                k.next();
                mask(n);
                softmax(shrink);
                ptx::wgmma_wait<0>();
                ptx::keep(o);
                ptx::keep(P);
                if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(v_empty + 8 * v.stage);
                v.next();
#pragma unroll
                for (int i = 0; i < d / 2; ++i) o[i] *= shrink[i / 2 % 2];
                pack();
            }
            if (apart) ptx::mbarrier_arrive(q_empty + 8 * w);   // Q may be overwritten
            ptx::mbarrier_wait_parity(v_full + 8 * v.stage, v.parity);
            ptx::keep(o);
            ptx::keep(P);
            ptx::wgmma_fence();
            values(work.tiles > 1);
            ptx::wgmma_commit();
            ptx::wgmma_wait<0>();
            ptx::keep(o);
            if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(v_empty + 8 * v.stage);
            v.next();
        } else {
#pragma unroll
            for (int i = 0; i < d / 2; ++i) o[i] = 0.0f;
        }

        // ---- O through shared memory by TMA, LSE directly
        float inverse[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float sum = l[h];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
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
