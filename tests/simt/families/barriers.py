"""Barriers of blocks and warps, fences, and what is built from them."""

from __future__ import annotations

import numpy as np

from .case import Case


def values(seed, n, low=-100, high=100):
    return np.random.default_rng(seed).integers(low, high, n).astype(np.int32)


CASES: list[Case] = [
    Case(
        name="barriers.tree_sum",
        source="""
extern "C" __global__ void tree_sum(const int* x, int* y) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}""",
        entry="tree_sum",
        args=lambda: [values(1, 1024), np.zeros(4, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [x.reshape(4, 256).sum(1, dtype=np.int32)],
        grid=4,
        block=256,
    ),
    Case(
        name="barriers.count_or_and",
        source="""
extern "C" __global__ void count_or_and(const int* x, int* y) {
    int t = threadIdx.x, v = x[blockIdx.x * blockDim.x + t];
    int count = __syncthreads_count(v > 0);
    int any = __syncthreads_or(v > 95);
    int all = __syncthreads_and(v > -101);
    int none = __syncthreads_and(v > 0);
    if (t == 0) y[blockIdx.x] = count + 1000 * (any != 0) + 2000 * (all != 0) + 4000 * (none != 0);
}""",
        entry="count_or_and",
        args=lambda: [values(2, 288), np.zeros(3, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [((p := x.reshape(3, 96)) > 0).sum(1).astype(np.int32) + 1000 * (p > 95).any(1).astype(np.int32) + np.int32(2000)],
        grid=3,
        block=96,
    ),
    Case(
        name="barriers.named",
        source="""
extern "C" __global__ void named(const int* x, int* y) {
    __shared__ int s[128], r[128];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        r[t] = s[63 - t];
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        asm volatile("barrier.sync 2, 64;" ::: "memory");
        r[t] = s[191 - t] * 2;
    }
    __syncthreads();
    y[t] = r[(t + 64) & 127];
}""",
        entry="named",
        args=lambda: [values(3, 128), np.zeros(128, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.concatenate([x[64:][::-1] * 2, x[:64][::-1]])],
    ),
    Case(
        name="barriers.producer_consumer",
        source="""
extern "C" __global__ void producer_consumer(const int* x, int* y) {
    __shared__ int s[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = 0; k < 4; ++k) {
        if (warp == 0) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            s[lane] = x[k * 32 + lane] + k;
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            y[k * 32 + lane] = s[31 - lane];
        }
    }
}""",
        entry="producer_consumer",
        args=lambda: [values(4, 128), np.zeros(128, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [(x.reshape(4, 32)[:, ::-1] + np.arange(4, dtype=np.int32)[:, None]).reshape(-1)],
        block=64,
    ),
    Case(
        name="barriers.part_of_a_warp",
        source="""
extern "C" __global__ void part_of_a_warp(const int* x, int* y) {
    __shared__ int s[48];
    int t = threadIdx.x;
    s[t] = x[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    int v = s[47 - t];
    if (t < 32) asm volatile("bar.arrive 2, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    y[t] = v;
}""",
        entry="part_of_a_warp",
        args=lambda: [values(8, 48), np.zeros(48, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [x[::-1]],
        block=48,
    ),
    Case(
        name="barriers.lanes_that_ended",
        source="""
extern "C" __global__ void lanes_that_ended(const int* x, int* y) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t % 32 >= 20) return;
    s[t] = x[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    int v = s[t ^ 32];
    asm volatile("barrier.sync 2, 64;" ::: "memory");
    y[t] = v;
}""",
        entry="lanes_that_ended",
        args=lambda: [values(9, 64), np.zeros(64, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.where(np.arange(64) % 32 < 20, x[np.arange(64) ^ 32], 0).astype(np.int32)],
        block=64,
    ),
    Case(
        name="barriers.lanes_apart",
        source="""
extern "C" __global__ void lanes_apart(const int* x, int* y) {
    __shared__ int s[64];
    int t = threadIdx.x, v;
    s[t] = x[t];
    if (t % 32 < 12) {
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        v = s[t ^ 33];
    } else {
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        v = 2 * s[t ^ 34];
    }
    y[t] = v;
}""",
        entry="lanes_apart",
        args=lambda: [values(10, 64), np.zeros(64, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.where(np.arange(64) % 32 < 12, x[np.arange(64) ^ 33], 2 * x[np.arange(64) ^ 34]).astype(np.int32)],
        block=64,
    ),
    Case(
        name="barriers.reduced_in_ptx",
        source="""
extern "C" __global__ void reduced_in_ptx(const int* x, int* y) {
    int t = threadIdx.x, count, both;
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 0; barrier.cta.red.popc.u32 %0, 0, p; }" : "=r"(count) : "r"(x[t]) : "memory");
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, -200; bar.red.and.pred q, 0, p; selp.s32 %0, 1, 0, q; }" : "=r"(both) : "r"(x[t]) : "memory");
    y[t] = count * 2 + both;
}""",
        entry="reduced_in_ptx",
        args=lambda: [values(5, 64), np.zeros(64, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.full(64, 2 * (x > 0).sum() + 1, np.int32)],
        block=64,
    ),
    Case(
        name="barriers.warp_exchange",
        source="""
extern "C" __global__ void warp_exchange(const int* x, int* y) {
    __shared__ int s[64];
    int t = threadIdx.x, first = t & 32;
    s[t] = x[t];
    __syncwarp();
    int v = s[first + (t + 1) % 32];
    __syncwarp();
    s[t] = v * 3;
    __syncwarp();
    if ((t & 31) < 16) {
        s[t] += s[t + 16];
        __syncwarp(0x0000ffff);
        y[t] = s[first + 15 - (t & 15)];
    } else {
        y[t] = -v;
    }
}""",
        entry="warp_exchange",
        args=lambda: [values(6, 64), np.zeros(64, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.concatenate([exchanged(part) for part in x.reshape(2, 32)])],
        block=64,
    ),
    Case(
        name="barriers.last_block_done",
        source="""
__device__ unsigned finished = 0;
extern "C" __global__ void last_block_done(const int* x, volatile int* partial, int* total) {
    __shared__ int s[128];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) { if (t < half) s[t] += s[t + half]; __syncthreads(); }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        int sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += partial[b];
        *total = sum;
    }
}""",
        entry="last_block_done",
        args=lambda: [values(7, 1024), np.zeros(8, np.int32), np.zeros(1, np.int32)],
        outputs=(1, 2),
        expect=lambda x, *_: [x.reshape(8, 128).sum(1, dtype=np.int32), x.sum(keepdims=True, dtype=np.int32)],
        grid=8,
    ),
    Case(
        name="barriers.spin_lock",
        source="""
extern "C" __global__ void spin_lock(int* lock, int* counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            volatile int* shared_counter = counter;
            *shared_counter = *shared_counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}""",
        entry="spin_lock",
        args=lambda: [np.zeros(1, np.int32), np.zeros(1, np.int32)],
        outputs=(0, 1),
        expect=lambda *_: [np.zeros(1, np.int32), np.array([96], np.int32)],
        grid=3,
        block=32,
    ),
    Case(
        name="barriers.fences",
        source="""
extern "C" __global__ void fences(int* data, int* flag, int* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 3 * threadIdx.x;
        __threadfence();
        atomicAdd(flag, 1);
    } else {
        while (atomicAdd(flag, 0) < 32) {}
        __threadfence();
        out[threadIdx.x] = *(volatile int*)&data[31 - threadIdx.x];
        __threadfence_block();
        __threadfence_system();
    }
}""",
        entry="fences",
        args=lambda: [np.zeros(32, np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32)],
        outputs=(2,),
        expect=lambda *_: [np.arange(31, -1, -1, dtype=np.int32) * 3],
        grid=2,
        block=32,
    ),
]


def exchanged(x):
    v = np.roll(x, -1)
    s = v * 3
    low = s[:16] + s[16:]
    return np.concatenate([low[::-1], -v[16:]])
