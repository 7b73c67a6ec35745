"""Accesses that ptxas makes otherwise than the PTX shows them, and those that go where only the address says: generic ones, other blocks, wmma."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from families.case import Case

# ---- Four loads or stores with something between them

STEPS = 20


def _branch(s: np.ndarray) -> np.ndarray:
    for k in range(STEPS):
        s = np.where(s & 1, s * 5 + 2 * k, s)
    return s


def _unchanged(s: np.ndarray) -> np.ndarray:
    return s


# name → (CUDA, what it makes of s)
BETWEEN: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "nothing": ("", _unchanged),
    "shuffle": ("s ^= __shfl_xor_sync(~0u, s, 1);", lambda s: s ^ s[np.arange(len(s)) ^ 1]),
    "global_store": ("y[threadIdx.x + 64] = s;", _unchanged),
    "global_load": ("s += x[m];", lambda s: s + 8),
    "global_atomic": ("atomicAdd(y + 128, 1u);", _unchanged),
    "branch": ("if (s & 1) { " + " ".join(f"s = s * 5 + {2 * k};" for k in range(STEPS)) + " }", _branch),
    "loop": ("for (int i = 0; i < m; ++i) s = s * 5 + 2;", lambda s: s * 5 + 2),
    "syncwarp": ("__syncwarp();", _unchanged),
    "fence": ("__threadfence_block();", _unchanged),
    "shared_store": ("numbers[256 + threadIdx.x] = s;", _unchanged),
}
NUMBERS = np.arange(512, dtype=np.uint32) * 7 + 1


def four_loads(name: str, indices: tuple[int, int, int, int]) -> Case:
    """Numbers `indices` of four neighbours, one after the other."""
    between, step = BETWEEN[name]
    entry = f"load_{'four' if len(set(indices)) == 4 else 'again'}_across_{name}"
    steps = "".join(f'    s = s * 3 + at[{k}];\n    {between}\n    asm volatile("" ::: "memory");\n' for k in indices)

    def expect() -> list[np.ndarray]:
        at = 4 * (np.arange(32) % 8)
        s = np.zeros(32, np.uint32)
        for k in indices:
            s = step(s * np.uint32(3) + NUMBERS[at + k]).astype(np.uint32)
        return [s]

    source = f"""extern "C" __global__ void {entry}(const unsigned* x, unsigned* out, int m, unsigned* y) {{
    __shared__ __align__(16) unsigned numbers[512];
    for (int k = threadIdx.x; k < 512; k += 32) numbers[k] = x[k];
    __syncthreads();
    const unsigned* at = numbers + 4 * (threadIdx.x % 8);
    unsigned s = 0;
{steps}    out[threadIdx.x] = s;
}}"""
    return Case(
        name=f"joined.{entry}",
        source=source,
        entry=entry,
        args=lambda: [NUMBERS.copy(), np.zeros(32, np.uint32), np.int32(1), np.zeros(160, np.uint32)],
        outputs=(1,),
        expect=lambda x, out, m, y: expect(),
        block=32,
    )


def four_stores(name: str) -> Case:
    between, step = BETWEEN[name]
    entry = f"store_four_across_{name}"
    steps = "".join(f'    numbers[4 * threadIdx.x + {k}] = s;\n    {between}\n    asm volatile("" ::: "memory");\n    s = s * 3 + 1;\n' for k in range(4))

    def expect(x: np.ndarray) -> list[np.ndarray]:
        s, columns = x[:32].copy(), []
        for _ in range(4):
            columns.append(s)
            s = (step(s) * 3 + 1).astype(np.uint32)
        return [np.stack(columns, axis=1).reshape(-1)]

    source = f"""extern "C" __global__ void {entry}(const unsigned* x, unsigned* out, int m, unsigned* y) {{
    __shared__ __align__(16) unsigned numbers[512];
    unsigned s = x[threadIdx.x];
{steps}    __syncthreads();
    for (int k = threadIdx.x; k < 128; k += 32) out[k] = numbers[k];
}}"""
    return Case(
        name=f"joined.{entry}",
        source=source,
        entry=entry,
        args=lambda: [NUMBERS.copy(), np.zeros(128, np.uint32), np.int32(1), np.zeros(160, np.uint32)],
        outputs=(1,),
        expect=lambda x, out, m, y: expect(x),
        block=32,
    )


def placed(words: int, index: str, entry: str) -> Case:
    """Ten neighbours of an array that lies behind `words` others."""
    source = f"""extern "C" __global__ void {entry}(const unsigned* x, unsigned* y) {{
    __shared__ unsigned before[{words}], numbers[160];
    for (int k = threadIdx.x; k < 160; k += 32) numbers[k] = x[k];
    if (threadIdx.x < {words}) before[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const unsigned* at = numbers + {index};
    unsigned s = before[0] + before[1];
    for (int i = 0; i < 10; ++i) s = s * 2 + at[i];
    y[threadIdx.x] = s;
}}"""

    def sums(x: np.ndarray) -> list[np.ndarray]:
        at = 4 * np.arange(32) if "threadIdx" in index else np.zeros(32, int)
        s = np.ones(32, np.uint32)
        for i in range(10):
            s = (s * 2 + x[at + i]).astype(np.uint32)
        return [s]

    return Case(
        name=f"joined.{entry}",
        source=source,
        entry=entry,
        args=lambda: [NUMBERS[:160].copy(), np.zeros(32, np.uint32)],
        outputs=(1,),
        expect=lambda x, y: sums(x),
        block=32,
    )


# ---- Where the address decides: generic pointers, other blocks of the cluster


def generic(place: str, name: str, picked: Callable[[np.ndarray], np.ndarray]) -> Case:
    entry = f"generic_{name}"
    source = f"""extern "C" __global__ void {entry}(const unsigned* x, unsigned* y) {{
    __shared__ unsigned numbers[32];
    numbers[threadIdx.x] = threadIdx.x;
    const unsigned* at = {place};
    unsigned s;
    asm volatile("ld.u32 %0, [%1];" : "=r"(s) : "l"(at) : "memory");
    y[threadIdx.x] = s;
}}"""
    return Case(
        name=f"joined.{entry}",
        source=source,
        entry=entry,
        args=lambda: [NUMBERS[:32].copy(), np.zeros(32, np.uint32)],
        outputs=(1,),
        expect=lambda x, y: [picked(x)],
        block=32,
    )


def far(what: str, to: str, name: str) -> Case:
    """Two blocks; the first one reads or writes 32 numbers of its own, of the other one, or half and half."""
    entry = f"{what}_{name}_block"
    access = {
        "load": 'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(s) : "r"(there) : "memory")',
        "store": 'asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(s) : "memory")',
    }[what]
    source = f"""#include <ptx_hopper.cuh>
extern "C" __global__ void __cluster_dims__(2) {entry}(unsigned* y) {{
    __shared__ unsigned numbers[32];
    const unsigned lane = threadIdx.x;
    numbers[lane] = lane + 100 * blockIdx.x;
    ptx::cluster_arrive();
    ptx::cluster_wait();
    const unsigned there = ptx::map_to_rank(ptx::shared_address(numbers + lane), {to});
    unsigned s = 1000;
    if (blockIdx.x == 0) {access};
    ptx::cluster_arrive();
    ptx::cluster_wait();
    y[blockIdx.x * 32 + lane] = s + numbers[lane];
}}"""

    def expect(y: np.ndarray) -> list[np.ndarray]:
        lane = np.arange(32)
        rank = {"0": 0 * lane, "1": 0 * lane + 1, "lane % 2": lane % 2}[to]
        numbers = np.stack([lane, lane + 100])
        s = np.full((2, 32), 1000)
        if what == "load":
            s[0] = numbers[rank, lane]
        else:
            numbers[rank, lane] = 1000
        return [(s + numbers).astype(np.uint32).reshape(-1)]

    return Case(name=f"joined.{entry}", source=source, entry=entry, args=lambda: [np.zeros(64, np.uint32)], outputs=(0,), expect=expect, grid=2, block=32)


# ---- wmma: a fragment from memory, its largest and smallest element


def fragment(use: str, shape: tuple[int, int, int], type: str, major: str, place: str, pitch: int) -> Case:
    m, n, k = shape
    entry = f"wmma_{use}_{m}x{n}x{k}_{type.replace(' ', '_')}_{major}_{place}_{pitch}"
    rows, columns = {"matrix_a": (m, k), "matrix_b": (k, n), "accumulator": (m, n)}[use]
    in_memory = f", wmma::mem_{major}_major" if use == "accumulator" else ""
    operand = "" if use == "accumulator" else f", wmma::{major}_major"
    kind = {"half": np.float16, "float": np.float32, "signed char": np.int8}[type]
    source = f"""#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void {entry}(const {type}* x, float* y) {{
    __shared__ __align__(128) {type} tile[1536];
    for (int i = threadIdx.x; i < 1536; i += 32) tile[i] = x[i];
    __syncwarp();
    wmma::fragment<wmma::{use}, {m}, {n}, {k}, {type}{operand}> f;
    wmma::load_matrix_sync(f, {"tile" if place == "shared" else "x"}, {pitch}{in_memory});
    float most = -1000, least = 1000;
    for (int i = 0; i < f.num_elements; ++i) {{
        most = fmaxf(most, float(f.x[i]));
        least = fminf(least, float(f.x[i]));
    }}
    for (int far = 16; far > 0; far /= 2) {{
        most = fmaxf(most, __shfl_xor_sync(~0u, most, far));
        least = fminf(least, __shfl_xor_sync(~0u, least, far));
    }}
    y[threadIdx.x] = threadIdx.x % 2 ? most : least;
}}"""

    def expect(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        lines, length = (rows, columns) if major == "row" else (columns, rows)
        read = np.concatenate([x[pitch * line : pitch * line + length] for line in range(lines)]).astype(np.float32)
        return [np.where(np.arange(32) % 2, read.max(), read.min()).astype(np.float32)]

    return Case(
        name=f"joined.{entry}",
        source=source,
        entry=entry,
        args=lambda: [(np.random.default_rng(5).permutation(1536) % 251 - 125).astype(kind), np.zeros(32, np.float32)],
        outputs=(1,),
        expect=expect,
        block=32,
    )


CASES: list[Case] = [
    *(four_loads(name, indices) for name in BETWEEN for indices in ((0, 1, 2, 3), (0, 0, 0, 0))),
    *(four_stores(name) for name in ("nothing", "shuffle", "global_store", "syncwarp")),
    placed(2, "0", "behind_two"),
    placed(3, "0", "behind_three"),
    placed(4, "0", "behind_four"),
    placed(2, "4 * threadIdx.x", "behind_two_apart"),
    placed(4, "4 * threadIdx.x", "behind_four_apart"),
    generic("numbers + threadIdx.x", "shared", lambda x: np.arange(32, dtype=np.uint32)),
    generic("x + threadIdx.x", "global", lambda x: x),
    generic("threadIdx.x % 2 ? x + threadIdx.x : numbers + threadIdx.x", "both", lambda x: np.where(np.arange(32) % 2, x, np.arange(32)).astype(np.uint32)),
    *(far(what, to, name) for what in ("load", "store") for to, name in (("0", "own"), ("1", "other"), ("lane % 2", "each"))),
    *(
        fragment(use, shape, type, major, place, pitch)
        for use, shape, type, pitches in (
            ("matrix_a", (16, 16, 16), "half", (16, 24)),
            ("matrix_b", (8, 32, 16), "half", (32, 40)),
            ("matrix_a", (16, 16, 16), "signed char", (16, 32)),
            ("matrix_b", (8, 32, 16), "signed char", (32,)),
            ("accumulator", (16, 16, 16), "float", (16, 24)),
            ("accumulator", (8, 32, 16), "float", (32, 40)),
            ("accumulator", (32, 8, 16), "half", (32,)),
        )
        for pitch in pitches
        for major in ("row", "col")
        for place in ("shared", "global")
    ),
]
