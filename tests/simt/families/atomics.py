"""Atomic operations on global and shared memory; sums of floats are of small integers, so that no order shows."""

from __future__ import annotations

import numpy as np

from .case import Case


def integers(seed, n=512, low=-1000, high=1000):
    return np.random.default_rng(seed).integers(low, high, n).astype(np.int32)


def folded(x, start, dtype, function):
    """`function` over the elements of each of 16 bins (element i falls into bin i mod 16)."""
    out = np.full(16, start, dtype)
    for i, v in enumerate(x):
        out[i % 16] = function(out[i % 16], dtype(v))
    return out


def one(entry, ctype, dtype, statement, start, function, seed, shared=False):
    """`statement` on target `t` (a pointer to one of 16 bins) with value v of every element."""
    if shared:
        body = f"""
    __shared__ {ctype} bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    {ctype}* t = bins + threadIdx.x % 16;
    {ctype} v = ({ctype})x[threadIdx.x];
    {statement};
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];"""
        grid, block = 1, 512
    else:
        body = f"""
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {ctype}* t = out + i % 16;
    {ctype} v = ({ctype})x[i];
    {statement};"""
        grid, block = 4, 128
    return Case(
        name=f"atomics.{entry}",
        source=f'extern "C" __global__ void {entry}(const int* x, {ctype}* out) {{{body}\n}}\n',
        entry=entry,
        args=lambda: [integers(seed), np.full(16, start, dtype)],
        outputs=(1,),
        expect=lambda x, out: [folded(x, start, dtype, function)],
        grid=grid,
        block=block,
    )


def wrap_up(limit):
    """atomicInc with a limit: order-free only where all add to one counter with the same limit."""
    return lambda old, v: np.uint32(0 if old >= limit else old + 1)


def wrap_down(limit):
    return lambda old, v: np.uint32(limit if old == 0 or old > limit else old - 1)


def quiet(function):
    def apply(a, b):
        with np.errstate(all="ignore"):
            return function(a, b)

    return apply


ADD, MIN, MAX = quiet(lambda a, b: a + b), min, max
LISTED = [
    ("add_int", "int", np.int32, "atomicAdd(t, v)", 7, ADD),
    ("add_unsigned", "unsigned", np.uint32, "atomicAdd(t, v & 255u)", 7, lambda a, b: a + (b & 255)),
    ("add_ull", "unsigned long long", np.uint64, "atomicAdd(t, v & 0xffffffffull)", 2**40, lambda a, b: a + (b & np.uint64(0xFFFFFFFF))),
    ("add_float", "float", np.float32, "atomicAdd(t, v)", 0.5, ADD),
    ("add_double", "double", np.float64, "atomicAdd(t, v)", 0.25, ADD),
    ("sub_int", "int", np.int32, "atomicSub(t, v)", 0, quiet(lambda a, b: a - b)),
    ("min_int", "int", np.int32, "atomicMin(t, v)", 99999, MIN),
    ("max_int", "int", np.int32, "atomicMax(t, v)", -99999, MAX),
    ("max_unsigned", "unsigned", np.uint32, "atomicMax(t, v & 0xffffu)", 3, lambda a, b: max(a, b & 0xFFFF)),
    ("min_ll", "long long", np.int64, "atomicMin(t, v * 1000000000000ll)", 0, lambda a, b: min(a, b * 10**12)),
    ("max_ull", "unsigned long long", np.uint64, "atomicMax(t, v & 0xffffull)", 0, lambda a, b: max(a, b & np.uint64(0xFFFF))),
    ("and_int", "int", np.int32, "atomicAnd(t, v | 0x0f)", -1, lambda a, b: a & (b | 0x0F)),
    ("or_int", "int", np.int32, "atomicOr(t, v & 0xf3)", 0, lambda a, b: a | (b & 0xF3)),
    ("xor_int", "int", np.int32, "atomicXor(t, v)", 5, lambda a, b: a ^ b),
    ("or_ull", "unsigned long long", np.uint64, "atomicOr(t, v << 30)", 0, quiet(lambda a, b: a | (b << np.uint64(30)))),
    ("inc", "unsigned", np.uint32, "atomicInc(t, 12u)", 0, wrap_up(12)),
    ("dec", "unsigned", np.uint32, "atomicDec(t, 9u)", 4, wrap_down(9)),
    ("add_block_scope", "int", np.int32, "atomicAdd_block(t, 0); atomicAdd_system(t, v)", 0, ADD),
]
CASES: list[Case] = [one(entry, ctype, dtype, code, start, function, 40 + k) for k, (entry, ctype, dtype, code, start, function) in enumerate(LISTED)]
CASES += [
    one(f"shared_{entry}", ctype, dtype, code, start, function, 70 + k, shared=True) for k, (entry, ctype, dtype, code, start, function) in enumerate(LISTED)
]
CASES += [
    Case(
        name="atomics.cas_maximum",
        source="""
__device__ float greatest(float* address, float v) {
    int* bits = reinterpret_cast<int*>(address);
    int old = *(volatile int*)bits, seen;
    do { seen = old; if (__int_as_float(seen) >= v) break; old = atomicCAS(bits, seen, __float_as_int(v)); } while (seen != old);
    return __int_as_float(old);
}
extern "C" __global__ void cas_maximum(const float* x, float* out) {
    greatest(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}""",
        entry="cas_maximum",
        args=lambda: [np.random.default_rng(90).standard_normal(512).astype(np.float32), np.full(1, -9.0, np.float32)],
        outputs=(1,),
        expect=lambda x, out: [x.max(keepdims=True)],
        grid=4,
    ),
    Case(
        name="atomics.cas_widths",
        source="""
extern "C" __global__ void cas_widths(unsigned long long* wide, unsigned short* narrow, int* plain) {
    int i = threadIdx.x;
    unsigned long long old = *(volatile unsigned long long*)wide, seen;
    do { seen = old; old = atomicCAS(wide, seen, seen * 1ull + (1ull << 33)); } while (seen != old);
    unsigned short before = *(volatile unsigned short*)&narrow[i & 3], was;
    do { was = before; before = atomicCAS(&narrow[i & 3], was, (unsigned short)(was + 3)); } while (was != before);
    atomicCAS(&plain[i], i, -i);
}""",
        entry="cas_widths",
        args=lambda: [np.array([5], np.uint64), np.arange(4, dtype=np.uint16), np.arange(64, dtype=np.int32) // 2 * 2],
        outputs=(0, 1, 2),
        expect=lambda w, n, p: [
            np.array([5 + 64 * 2**33], np.uint64),
            (np.arange(4) + 16 * 3).astype(np.uint16),
            np.where(np.arange(64) % 2 == 0, -np.arange(64), p).astype(np.int32),
        ],
        block=64,
    ),
    Case(
        name="atomics.returned",
        source="""
extern "C" __global__ void returned(int* next, int* slots, unsigned* exchanged, int* marks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int mine = atomicAdd(next, 1);
    slots[mine] = 1;
    unsigned before = atomicExch(exchanged, (unsigned)i + 1u);
    marks[before] = 1;
}""",
        entry="returned",
        args=lambda: [np.zeros(1, np.int32), np.zeros(256, np.int32), np.zeros(1, np.uint32), np.zeros(257, np.int32)],
        outputs=(0, 1),
        expect=lambda *_: [np.array([256], np.int32), np.ones(256, np.int32)],
        grid=2,
    ),
    Case(
        name="atomics.half_pairs",
        source="""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void half_pairs(__half2* pairs, __half* single, __nv_bfloat162* brains) {
    int i = threadIdx.x;
    atomicAdd(&pairs[i % 4], __floats2half2_rn(i % 8, -1.0f));
    atomicAdd(&single[i % 3], __float2half(0.5f));
    atomicAdd(&brains[i % 4], __floats2bfloat162_rn(1.0f, 2.0f));
}""",
        entry="half_pairs",
        args=lambda: [np.zeros((4, 2), np.float16), np.ones(3, np.float16), np.zeros((4, 2), np.uint16)],
        outputs=(0, 1, 2),
        expect=lambda *_: [
            np.array([[sum(i % 8 for i in range(k, 96, 4)), -24] for k in range(4)], np.float16),
            np.full(3, 1 + 16, np.float16),
            np.tile(np.array([0x41C0, 0x4240], np.uint16), (4, 1)),
        ],
        block=96,
    ),
    Case(
        name="atomics.vector",
        source="""
extern "C" __global__ void vector(float4* quads, float2* pairs) {
    int i = threadIdx.x;
    atomicAdd(&quads[i % 4], make_float4(1.0f, 2.0f, (float)i, -1.0f));
    atomicAdd(&pairs[i % 2], make_float2(0.5f, (float)(i & 3)));
}""",
        entry="vector",
        args=lambda: [np.zeros((4, 4), np.float32), np.zeros((2, 2), np.float32)],
        outputs=(0, 1),
        expect=lambda *_: [
            np.array([[16, 32, sum(range(k, 64, 4)), -16] for k in range(4)], np.float32),
            np.array([[16, sum(i & 3 for i in range(k, 64, 2))] for k in range(2)], np.float32),
        ],
        block=64,
    ),
    Case(
        name="atomics.reductions_in_ptx",
        source="""
extern "C" __global__ void reductions_in_ptx(int* out) {
    int i = threadIdx.x;
    asm volatile("red.global.add.s32 [%0], %1;" :: "l"(out), "r"(i) : "memory");
    asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" :: "l"(out + 1), "r"(i * 3) : "memory");
    int old;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(out + 2), "r"(1) : "memory");
    atomicAdd(&out[3], old);
}""",
        entry="reductions_in_ptx",
        args=lambda: [np.zeros(4, np.int32)],
        outputs=(0,),
        expect=lambda *_: [np.array([sum(range(96)), 285, 96, sum(range(96))], np.int32)],
        block=96,
    ),
]
