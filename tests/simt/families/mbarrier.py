"""mbarriers: random scripts of arrivals, bytes and tests by one thread, and rings in which warps hand data on (PTX ISA 9.7.13.15)."""

from __future__ import annotations

import numpy as np

from .case import Case

ARRIVE, EXPECT, COMPLETE, ARRIVE_EXPECT, DROP, TEST_PARITY, TEST_STATE, PENDING = range(8)
STEPS = 40

HEAD = """
__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ unsigned test(unsigned bar, unsigned parity) {
    unsigned ok;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(ok) : "r"(bar), "r"(parity) : "memory");
    return ok;
}
"""
SCRIPT = (
    HEAD
    + """
extern "C" __global__ void script(const int* ops, int* y, int arrivals, int steps) {
    __shared__ __align__(8) unsigned long long bar;
    const unsigned at = address(&bar);
    unsigned long long state = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory");
    for (int i = 0; i < steps; ++i) {
        const int op = ops[2 * i], n = ops[2 * i + 1];
        unsigned out = 0;
        if (op == 0) asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(n) : "memory");
        if (op == 1) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(n) : "memory");
        if (op == 2) asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(n) : "memory");
        if (op == 3) asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(n) : "memory");
        if (op == 4) asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at), "r"(n) : "memory");
        if (op == 5) out = test(at, n);
        if (op == 6)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(out) : "r"(at), "l"(state) : "memory");
        if (op == 7) asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(out) : "l"(state));
        y[i] = out;
    }
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(at) : "memory");
}"""
)


class Model:
    """An mbarrier as the ISA describes it, in a few lines."""

    def __init__(self, arrivals: int):
        self.expected = self.pending = arrivals
        self.tx = self.phase = 0
        self.state: tuple[int, int] | None = None  # (phase, pending) before the last arrival

    def settle(self) -> None:
        if self.pending == 0 and self.tx == 0:
            self.phase, self.pending = self.phase + 1, self.expected

    def arrive(self, n: int, tx: int = 0, drop: bool = False) -> None:
        self.tx += tx
        self.state = (self.phase, self.pending)
        self.pending -= n
        if drop:
            self.expected -= n
        self.settle()

    def bytes(self, n: int) -> None:
        self.tx += n
        self.settle()

    def run(self, op: int, n: int) -> int:
        if op == ARRIVE:
            self.arrive(n)
        elif op == EXPECT:
            self.tx += n
        elif op == COMPLETE:
            self.bytes(-n)
        elif op == ARRIVE_EXPECT:
            self.arrive(1, n)
        elif op == DROP:
            self.arrive(n, drop=True)
        elif op == TEST_PARITY:
            return int(self.phase % 2 != n)
        elif op == TEST_STATE:
            assert self.state is not None
            return int(self.state[0] < self.phase)
        elif op == PENDING:
            assert self.state is not None
            return self.state[1]
        return 0


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(operations, results, arrivals of a phase): a script that keeps to the rules."""
    rng = np.random.default_rng(seed)
    arrivals = int(rng.integers(1, 12))
    model = Model(arrivals)
    ops, out = [], []
    while len(ops) < STEPS:
        op, n = int(rng.integers(0, 8)), 0
        if op == ARRIVE:
            n = int(rng.integers(1, 4))
            if n > model.pending:
                continue
        elif op == DROP:
            n = 1
            if model.pending < 1 or model.expected < 3 or rng.random() < 0.6:
                continue
        elif op in (EXPECT, ARRIVE_EXPECT):
            n = 16 * int(rng.integers(1, 100))
            if model.pending < 1 or (op == EXPECT and rng.random() < 0.5):
                continue
        elif op == COMPLETE:
            if model.tx == 0:
                continue
            n = model.tx if rng.random() < 0.6 else 16 * int(rng.integers(1, model.tx // 16 + 1))
        elif op == TEST_PARITY:
            n = int(rng.integers(0, 2))
        elif model.state is None:
            continue
        elif op == TEST_STATE and model.phase > model.state[0] + 1:
            continue  # a state may be of this phase or the one before
        ops.append((op, n))
        out.append(model.run(op, n))
    return np.array(ops, np.int32).reshape(-1), np.array(out, np.int32), arrivals


def script(seed: int) -> Case:
    return Case(
        name=f"mbarrier.script_{seed}", source=SCRIPT, entry="script",
        args=lambda: [drawn(seed)[0], np.zeros(STEPS, np.int32), np.int32(drawn(seed)[2]), np.int32(STEPS)],
        outputs=(1,), expect=lambda *_: [drawn(seed)[1]], block=1,
    )  # fmt: skip


RING = (
    HEAD
    + """
__device__ void wait(unsigned bar, unsigned parity) {
    asm volatile("{ .reg .pred p;\\nagain: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1, 0x989680;\\n@p bra over;\\nbra again;\\nover: }"
                 :: "r"(bar), "r"(parity) : "memory");
}
__device__ void arrive(unsigned bar) { asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory"); }
extern "C" __global__ void ring(const int* x, int* y, int tiles, int stages, int half) {
    extern __shared__ int s[];
    __shared__ __align__(8) unsigned long long full[8], empty[8];
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        for (int i = 0; i < stages; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(full + i)), "r"(half) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(empty + i)), "r"(half) : "memory");
        }
    __syncthreads();
    for (int i = 0; i < tiles; ++i) {
        int stage = i % stages, round = i / stages & 1;
        if (t < half) {
            wait(address(empty + stage), round ^ 1);
            s[stage * half + t] = x[(blockIdx.x * tiles + i) * half + t];
            arrive(address(full + stage));
        } else {
            wait(address(full + stage), round);
            sum = sum * 3 + s[stage * half + (2 * half - 1 - t)];
            arrive(address(empty + stage));
        }
    }
    if (t >= half) y[blockIdx.x * half + t - half] = sum;
}"""
)


def ring(half: int, stages: int, tiles: int, grid: int) -> Case:
    def expect(x, y, *_):
        out = np.zeros((grid, half), np.int32)
        with np.errstate(over="ignore"):
            for i in range(tiles):
                out = out * np.int32(3) + x.reshape(grid, tiles, half)[:, i, ::-1]
        return [out.reshape(-1)]

    return Case(
        name=f"mbarrier.ring_{half}x{stages}x{tiles}", source=RING, entry="ring",
        args=lambda: [np.random.default_rng(half).integers(-99, 99, grid * tiles * half).astype(np.int32), np.zeros(grid * half, np.int32),
                      np.int32(tiles), np.int32(stages), np.int32(half)],
        outputs=(1,), expect=expect, grid=grid, block=2 * half, shared_bytes=stages * half * 4,
    )  # fmt: skip


def cp_async(noinc: bool) -> Case:
    """Copies of one warp that another warp waits for by an mbarrier."""
    name = "counted" if noinc else "added"
    return Case(
        name=f"mbarrier.cp_async_{name}",
        source=f"""{HEAD}
extern "C" __global__ void cp_async_{name}(const int4* x, int4* y) {{
    __shared__ int4 s[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(address(&bar)) : "memory");
    __syncthreads();
    if (t < 32) {{
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address(s + t)), "l"(x + t) : "memory");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address(s + 32 + t)), "l"(x + 32 + t) : "memory");
        asm volatile("cp.async.mbarrier.arrive{".noinc" if noinc else ""}.shared::cta.b64 [%0];" :: "r"(address(&bar)) : "memory");
        {"" if noinc else 'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(&bar)) : "memory");'}
    }} else {{
        while (!test(address(&bar), 0)) {{}}
        y[t - 32] = s[63 - (t - 32)];
        y[t] = s[31 - (t - 32)];
    }}
}}""",
        entry=f"cp_async_{name}", args=lambda: [np.random.default_rng(5).integers(-99, 99, 256).astype(np.int32), np.zeros(256, np.int32)], outputs=(1,),
        expect=lambda x, y: [x.reshape(64, 4)[::-1].reshape(-1).copy()], block=64,
    )  # fmt: skip


BARRIER = """
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
extern "C" __global__ void cuda_barrier(const int* x, int* y) {
    __shared__ alignas(16) int s[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0) { init(&bar, blockDim.x); cde::fence_proxy_async_shared_cta(); }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (t == 0) {
        cde::cp_async_bulk_global_to_shared(s, x + 256 * blockIdx.x, sizeof(s), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(s));
    } else {
        token = bar.arrive();
    }
    bar.wait(cuda::std::move(token));
    s[t] += t;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (t == 0) {
        cde::cp_async_bulk_shared_to_global(y + 256 * blockIdx.x, s, sizeof(s));
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}"""
MEMCPY = """
#include <cuda/barrier>
#include <cooperative_groups.h>
extern "C" __global__ void memcpy_async(const int* x, int* y) {
    __shared__ alignas(16) int s[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, s, x + 256 * blockIdx.x, cuda::aligned_size_t<16>(sizeof(s)), bar);
    bar.arrive_and_wait();
    y[256 * blockIdx.x + threadIdx.x] = s[255 - threadIdx.x] + threadIdx.x;
}"""


def library(entry: str, source: str, reverse: bool) -> Case:
    """cuda::barrier of the toolkit's headers, which is made of mbarriers."""

    def expect(x, y):
        rows = x.reshape(4, 256)
        return [((rows[:, ::-1] if reverse else rows) + np.arange(256, dtype=np.int32)).reshape(-1)]

    return Case(
        name=f"mbarrier.{entry}", source=source, entry=entry,
        args=lambda: [np.random.default_rng(3).integers(-99, 99, 1024).astype(np.int32), np.zeros(1024, np.int32)], outputs=(1,), expect=expect, grid=4,
        block=256, slow=True,
    )  # fmt: skip


CASES: list[Case] = [
    *(script(seed) for seed in range(24)),
    ring(32, 1, 5, 3), ring(32, 2, 7, 3), ring(64, 3, 8, 2), ring(128, 4, 9, 2), ring(64, 8, 5, 1),
    cp_async(True), cp_async(False), library("cuda_barrier", BARRIER, False), library("memcpy_async", MEMCPY, True),
]  # fmt: skip
