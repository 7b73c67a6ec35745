"""Patterns of real kernels: each right one is quiet and gives the right values, each faulty one gets its one verdict, in every order of warps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pairs import f32, i32, launch, messages, u32


@dataclass(frozen=True)
class Pattern:
    """A kernel `k`. `want`: the kind of the only error, "" for none; `values`: what the last array must hold then."""

    id: str
    want: str
    source: str
    args: Callable[[], list[Any]]
    grid: Any = 1
    block: Any = 64
    values: Any = None
    shared_bytes: int = 0

    def but(self, id: str, want: str, old: str, new: str) -> Pattern:
        """The same with one edit."""
        assert self.source.count(old) == 1, old
        return Pattern(id, want, self.source.replace(old, new), self.args, self.grid, self.block, None, self.shared_bytes)


def ints(n):
    return np.arange(n, dtype=i32)


def floats(n):
    return np.arange(n, dtype=f32)


def zeros(n, dtype=i32):
    return np.zeros(n, dtype)


SCAN = Pattern(
    "scan-in-two-buffers",
    "",
    """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, now = 0;
  s[0][t] = x[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    s[1 - now][t] = s[now][t] + (t >= d ? s[now][t - d] : 0);
    now = 1 - now;
    __syncthreads();
  }
  y[t] = s[now][t];
}
""",
    lambda: [ints(64), zeros(64)],
    values=np.cumsum(np.arange(64)),
)

HISTOGRAM = Pattern(
    "histogram",
    "",
    """
extern "C" __global__ void k(const int* x, int n, int* y) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads(); /* zeroed */
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i] % 16], 1);
  __syncthreads(); /* counted */
  if (threadIdx.x < 16) atomicAdd(&y[threadIdx.x], bins[threadIdx.x]);
}
""",
    lambda: [ints(1000), i32(1000), zeros(16)],
    grid=3,
    values=np.bincount(np.arange(1000) % 16),
)

DOUBLE_BUFFER = Pattern(
    "double-buffer-with-one-barrier-a-tile",
    "",
    """
extern "C" __global__ void k(const int* x, int n, int* y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  for (int b = 0; b < n; ++b) {
    s[b & 1][t] = x[b * 64 + t];
    __syncthreads();
    sum += s[b & 1][63 - t];
  }
  y[t] = sum;
}
""",
    lambda: [ints(256), i32(4), zeros(64)],
    values=[4 * (63 - t) + 64 * 6 for t in range(64)],
)

PRODUCER = Pattern(
    "named-barrier-of-producer-and-consumer",
    "",
    """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[t - 32] = s[63 - t];
  }
}
""",
    lambda: [ints(32), zeros(32)],
    values=np.arange(32)[::-1],
)

HALVES = Pattern(
    "a-named-barrier-for-each-half",
    "",
    """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[128];
  int t = threadIdx.x, half = t / 64;
  s[t] = x[t];
  asm volatile("bar.sync %0, 64;" :: "r"(1 + half) : "memory");
  y[t] = s[64 * half + 63 - t % 64];
}
""",
    lambda: [ints(128), zeros(128)],
    block=128,
    values=np.r_[np.arange(64)[::-1], np.arange(64, 128)[::-1]],
)

WARP_PRIVATE = Pattern(
    "a-row-for-each-warp",
    "",
    """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[4][32];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  s[warp][lane] = x[t];
  __syncwarp();
  y[t] = s[warp][31 - lane];
}
""",
    lambda: [ints(128), zeros(128)],
    block=128,
    values=[t // 32 * 32 + 31 - t % 32 for t in range(128)],
)

HALF_WARP = Pattern(
    "syncwarp-of-half-a-warp",
    "",
    """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  if (t < 16) {
    __syncwarp(0xffff);
    y[t] = s[15 - t];
  }
}
""",
    lambda: [ints(32), zeros(16)],
    block=32,
    values=np.arange(16)[::-1],
)

STOP_FLAG = Pattern(
    "flag-in-shared-memory-ends-the-loop",
    "",
    """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int stop;
  int t = threadIdx.x, n = 0;
  for (int i = 0;; ++i) {
    if (t == 0) stop = x[i] > 5;
    __syncthreads();
    if (stop) break;
    ++n;
    __syncthreads(); /* read by all */
  }
  y[t] = n;
}
""",
    lambda: [ints(64), zeros(64)],
    values=np.full(64, 6),
)

TWO_LEVELS = Pattern(
    "reduction-by-shuffles-in-two-levels",
    "",
    """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  float v = x[t];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? s[t] : 0.0f;
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (t == 0) *y = v;
  }
}
""",
    lambda: [floats(128), zeros(1, f32)],
    block=128,
    values=[8128],
)

VECTOR_STORE = Pattern(
    "float4-stores-and-scalar-loads",
    "",
    """
extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  ((float4*)s)[t] = x[t];
  __syncthreads();
  for (int i = 0; i < 4; ++i) y[t + 32 * i] = s[t + 32 * i];
}
""",
    lambda: [floats(128), zeros(128, f32)],
    block=32,
    values=np.arange(128),
)

BYTES = Pattern(
    "neighbours-in-one-word",
    "",
    """
extern "C" __global__ void k(const char* x, char* y) {
  __shared__ char s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  char mine = s[t];
  __syncthreads();
  y[t] = mine + s[63 - t];
}
""",
    lambda: [np.arange(64, dtype=np.int8), zeros(64, np.int8)],
    values=np.full(64, 63),
)

SCRATCH = Pattern(
    "scratch-memory-of-each-block",
    "",
    """
extern "C" __global__ void k(const int* x, int* scratch, int* y) {
  int t = threadIdx.x, start = blockIdx.x * 64;
  scratch[start + t] = x[start + t];
  __syncthreads();
  y[start + t] = scratch[start + 63 - t];
}
""",
    lambda: [ints(256), zeros(256), zeros(256)],
    grid=4,
    values=np.arange(256).reshape(4, 64)[:, ::-1],
)

LAST_BLOCK = Pattern(
    "last-block-adds-the-parts",
    "",
    """
extern "C" __global__ void k(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence(); /* publish */
    last = atomicInc(done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (int i = t; i < gridDim.x; i += 64) sum += part[i];
  atomicAdd(y, sum);
}
""",
    lambda: [ints(64 * 100), zeros(100), zeros(1, u32), zeros(1)],
    grid=100,
    values=[sum(range(6400))],
)

TICKET_LOCK = Pattern(
    "ticket-lock",
    "",
    """
extern "C" __global__ void k(unsigned* tickets, volatile unsigned* now, int* y) {
  if (threadIdx.x == 0) {
    unsigned mine = atomicAdd(tickets, 1u);
    while (*now != mine) { }
    __threadfence();
    *y += 1;
    __threadfence(); /* release */
    *now = mine + 1;
  }
}
""",
    lambda: [zeros(1, u32), zeros(1, u32), zeros(1)],
    grid=6,
    block=32,
    values=[6],
)

STRIDED_BARRIER = Pattern(
    "barrier-in-a-loop-of-equal-length",
    "",
    """
extern "C" __global__ void k(const int* x, int n, int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  for (int first = 0; first < n; first += 64) {
    int i = first + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = s[t] + s[0];
    __syncthreads();
  }
}
""",
    lambda: [ints(100), i32(100), zeros(100)],
    values=[i + i // 64 * 64 for i in range(100)],
)

PATTERNS = [
    SCAN,
    SCAN.but("scan-in-one-buffer", "race", "now = 1 - now;", "now = 0; s[0][t] = s[1][t];"),
    HISTOGRAM,
    HISTOGRAM.but("histogram-counted-before-it-is-zeroed", "race", "__syncthreads(); /* zeroed */", ""),
    HISTOGRAM.but("histogram-zeroed-for-one-warp-only", "race", "__syncthreads(); /* zeroed */", "__syncwarp();"),
    HISTOGRAM.but("histogram-read-before-it-is-counted", "race", "__syncthreads(); /* counted */", ""),
    DOUBLE_BUFFER,
    DOUBLE_BUFFER.but("single-buffer-with-one-barrier-a-tile", "race", "s[b & 1][63", "s[0][63").but("single-buffer", "race", "s[b & 1][t]", "s[0][t]"),
    PRODUCER,
    PRODUCER.but("consumer-that-does-not-wait", "race", 'asm volatile("bar.sync 1, 64;" ::: "memory");', ""),
    HALVES,
    HALVES.but("half-that-reads-the-other-half", "race", "s[64 * half + 63 - t % 64]", "s[127 - t]"),
    WARP_PRIVATE,
    WARP_PRIVATE.but("a-row-of-another-warp", "race", "s[warp][31", "s[3 - warp][31"),
    HALF_WARP,
    HALF_WARP.but("syncwarp-that-leaves-out-the-writers", "race", "s[15 - t]", "s[31 - t]"),
    STOP_FLAG,
    TWO_LEVELS,
    TWO_LEVELS.but("reduction-of-unset-sums", "uninitialised-read", "t < blockDim.x / 32 ? s[t] : 0.0f", "s[t]"),
    VECTOR_STORE,
    VECTOR_STORE.but("float4-stores-without-barrier", "race", "__syncthreads();", ""),
    BYTES,
    SCRATCH,
    SCRATCH.but("scratch-memory-shared-by-all-blocks", "race", "scratch[start + t] =", "scratch[t] =").but(
        "scratch-shared", "race", "scratch[start + 63 - t]", "scratch[63 - t]"
    ),
    LAST_BLOCK,
    LAST_BLOCK.but("last-block-without-publishing", "race", "__threadfence(); /* publish */", ""),
    TICKET_LOCK,
    TICKET_LOCK.but("ticket-lock-without-release", "race", "__threadfence(); /* release */", ""),
    STRIDED_BARRIER,
    STRIDED_BARRIER.but("barrier-in-a-loop-of-unequal-length", "barrier-divergence", "first < n; first += 64", "first + t < n; first += 64").but(
        "loop-of-unequal-length", "barrier-divergence", "  }\n}", "  }\n  atomicAdd(y, 0);\n}"
    ),
    Pattern(
        "own-atomic-then-own-read",
        "",
        'extern "C" __global__ void k(int* x, int* y) { int t = threadIdx.x; atomicAdd(&x[t], 1); y[t] = x[t]; }',
        lambda: [ints(64), zeros(64)],
        values=np.arange(1, 65),
    ),
    Pattern(
        "votes-that-end-a-loop",
        "",
        'extern "C" __global__ void k(const int* x, int* y) { int t = threadIdx.x, n = 0; while (__syncthreads_or(n < x[t])) ++n; y[t] = n; }',
        lambda: [ints(64), zeros(64)],
        values=np.full(64, 63),
    ),
    Pattern(
        "counter-of-the-device",
        "",
        '__device__ int n;\nextern "C" __global__ void k(int* y) { y[atomicAdd(&n, 1)] = 1; }',
        lambda: [zeros(128)],
        grid=2,
        values=np.ones(128),
    ),
    Pattern(
        "dynamic-shared-memory-of-two-types",
        "",
        """
extern "C" __global__ void k(const float* x, float* y) {
  extern __shared__ float a[];
  int* b = (int*)(a + blockDim.x);
  int t = threadIdx.x;
  a[t] = x[t];
  b[t] = 63 - t;
  __syncthreads();
  y[t] = a[b[t]];
}
""",
        lambda: [floats(64), zeros(64, f32)],
        shared_bytes=512,
        values=np.arange(64)[::-1],
    ),
]


@pytest.mark.parametrize("schedule", [0, 1, 2])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.id)
def test_pattern(pattern, schedule):
    args = pattern.args()
    report = launch(pattern.source, args, pattern.grid, pattern.block, pattern.shared_bytes, schedule=schedule)
    assert [f.kind for f in report.errors][:1] == ([pattern.want] if pattern.want else []), messages(report.findings)
    if pattern.values is not None:
        assert np.array_equal(args[-1], np.asarray(pattern.values).reshape(-1)), args[-1]


def test_an_array_updated_in_place_is_quiet_and_reversed_in_place_is_a_race():
    source = 'extern "C" __global__ void k(const int* x, int* y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = 2 * x[i]; }'
    both = ints(64)
    assert launch(source, [both, both], 2, 32).findings == [] and np.array_equal(both, 2 * np.arange(64))
    report = launch(source.replace("x[i]", "x[63 - i]"), [both, both], 2, 32)
    assert {f.kind for f in report.errors} == {"race"}


@pytest.mark.slow
def test_very_many_fences_and_atomics_cost_bounded_memory():
    """What every thread has released and acquired would be 65,536 tables of 256 blocks."""
    source = 'extern "C" __global__ void k(int* sum) { for (int i = 0; i < 2; ++i) { __threadfence(); atomicAdd(sum + i, 1); } }'
    sums = zeros(2)
    report = launch(source, [sums], 256, 256)
    assert report.ok and sums.tolist() == [65536, 65536], messages(report.findings)
