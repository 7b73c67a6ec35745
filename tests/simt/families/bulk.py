"""Bulk copies of runs of bytes: to shared memory, back, within it, and reductions (PTX ISA 9.7.9.25.4 and .5). Places and sizes are drawn at random."""

from __future__ import annotations

import numpy as np

from .case import Case
from .tma import HEAD, REDUCTIONS, UNTOUCHED, bfloat16s, combined

WORDS = 2048  # 32-bit words of shared memory, and of the arrays


def drawn(seed: int, runs: int = 3) -> np.ndarray:
    """For each block and run: offset in the array, offset in shared memory, bytes; the runs of a block don't overlap in shared memory."""
    rng = np.random.default_rng(seed)
    table = []
    for _ in range(2):
        cuts = np.sort(rng.choice(np.arange(1, WORDS // 4), 2 * runs, replace=False)).reshape(runs, 2) * 16
        for begin, end in cuts:
            table.append((16 * int(rng.integers(0, WORDS // 4 - (end - begin) // 16 + 1)), begin, end - begin))
    return np.array(table, np.int32)


LOAD = f"""{HEAD}
extern "C" __global__ void load(const unsigned char* x, const int* numbers, unsigned* y, int runs) {{
    __shared__ __align__(128) unsigned memory[{WORDS}];
    __shared__ __align__(8) unsigned long long bar;
    const int* n = numbers + 3 * runs * blockIdx.x;
    for (int i = threadIdx.x; i < {WORDS}; i += blockDim.x) memory[i] = {UNTOUCHED}u;
    if (threadIdx.x == 0) {{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&bar)), "r"(runs) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < runs) {{
        n += 3 * threadIdx.x;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&bar)), "r"(n[2]) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(address(memory) + n[1]), "l"(x + n[0]), "r"(n[2]), "r"(address(&bar)) : "memory");
    }}
    bool ok = wait(address(&bar), 0);
    __syncthreads();
    unsigned* out = y + blockIdx.x * {WORDS + 1};
    if (threadIdx.x == 0) out[0] = ok;
    for (int i = threadIdx.x; i < {WORDS}; i += blockDim.x) out[1 + i] = memory[i];
}}"""


def load(seed: int) -> Case:
    def expect(x, *_):
        out = np.full((2, WORDS + 1), UNTOUCHED, np.uint32)
        out[:, 0] = 1
        for k, (a, s, n) in enumerate(drawn(seed)):
            out[k // 3, 1 + s // 4 : 1 + (s + n) // 4] = x[a : a + n].view(np.uint32)
        return [out]

    return Case(
        name=f"bulk.load_{seed}", source=LOAD, entry="load",
        args=lambda: [np.random.default_rng(seed).integers(0, 256, 4 * WORDS).astype(np.uint8), drawn(seed), np.zeros((2, WORDS + 1), np.uint32), np.int32(3)],
        outputs=(2,), expect=expect, grid=2, block=64,
    )  # fmt: skip


def store_source(name: str) -> str:
    return f"""{HEAD}
extern "C" __global__ void store(unsigned char* y, const int* numbers, const unsigned* x, int runs) {{
    __shared__ __align__(128) unsigned memory[{WORDS}];
    const int* n = numbers + 3 * runs * blockIdx.x;
    for (int i = threadIdx.x; i < {WORDS}; i += blockDim.x) memory[i] = x[blockIdx.x * {WORDS} + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < runs) {{
        n += 3 * threadIdx.x;
        unsigned char* to = y + {4 * WORDS} * (runs * blockIdx.x + threadIdx.x) + n[0];
        asm volatile("{name} [%0], [%1], %2;" ::"l"(to), "r"(address(memory) + n[1]), "r"(n[2]) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }}
    __syncthreads();
}}"""


def numbers(rng: np.random.Generator, type: str, shape: tuple[int, ...]) -> np.ndarray:
    """Bytes that hold random numbers of a PTX type."""
    if type == "bf16":
        values = bfloat16s(rng, (*shape[:-1], shape[-1] // 2))
    elif type == "f16":
        values = rng.standard_normal((*shape[:-1], shape[-1] // 2)).astype(np.float16)
    elif type in ("f32", "f64"):
        values = rng.integers(-99, 99, (*shape[:-1], shape[-1] // int(type[1:]) * 8)).astype(f"f{int(type[1:]) // 8}")
    else:
        values = rng.integers(0, 256, shape).astype(np.uint8)
    return np.ascontiguousarray(values).view(np.uint8)


def store(seed: int, operation: str = "", type: str = "u32") -> Case:
    """Each run has an array of its own."""
    dtype = {"bf16": "u2", "f16": "f2", "f32": "f4", "f64": "f8"}.get(type) or f"{'i' if type[0] == 's' else 'u'}{int(type[1:]) // 8}"

    def args() -> list:
        rng = np.random.default_rng(seed)
        image = numbers(rng, type, (2, 4 * WORDS)).view(np.uint32)
        return [numbers(rng, type, (6, 4 * WORDS)), drawn(seed), image, np.int32(3)]

    def expect(y, table, x, _):
        out = y.copy()
        for k, (a, s, n) in enumerate(table):
            new = x[k // 3].view(np.uint8)[s : s + n].view(dtype)
            out[k, a : a + n] = combined(operation, type, out[k, a : a + n].view(dtype), new).view(np.uint8)
        return [out]

    name = "cp.async.bulk.global.shared::cta.bulk_group"
    if operation:
        noftz = ".noftz" if operation == "add" and type in ("f16", "bf16") else ""
        name = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{noftz}.{type}"
    label = f"{operation}_{type}" if operation else "store"
    return Case(
        name=f"bulk.{label}_{seed}", source=store_source(name), entry="store", args=args, outputs=(0,), expect=expect, grid=2, block=64,
    )  # fmt: skip


CASES: list[Case] = [
    *(load(seed) for seed in range(20)),
    *(store(seed) for seed in range(20)),
    *(store(100 + k, operation, type) for k, (operation, type) in enumerate([*REDUCTIONS, ("add", "f64")])),
]
