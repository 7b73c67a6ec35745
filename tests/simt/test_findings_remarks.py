"""Remarks: right, but slow or probably not meant. `report.ok` stays True."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import Pair, check_clean, check_faulty, f32, i32, launch, messages


def floats(*shape):
    return np.arange(np.prod(shape), dtype=f32).reshape(shape)


def zeros(n, dtype=f32):
    return np.zeros(n, dtype)


PAIRS = [
    Pair(
        id="all-threads-store-one",
        kind="same-value-write",
        faulty="""
extern "C" __global__ void k(int* y) {
  y[0] = 1;
}
""",
        edits=(("y[0] = 1", "if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = 1"),),
        args=lambda: [zeros(1, i32)],
        block=64,
        fields=dict(array="y", index=0, line=2),
        says=(r"same value", r"y\[0\]", r"line 2"),
        values=[1],
    ),
    Pair(
        id="shared-cell-set-by-all",
        kind="same-value-write",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s;
  s = x[0];
  __syncthreads();
  y[threadIdx.x] = s;
}
""",
        edits=(("  s = x[0]", "  if (threadIdx.x == 0) s = x[0]"),),
        args=lambda: [np.full(1, 5, i32), zeros(64, i32)],
        block=64,
        fields=dict(array="s", line=3),
        says=(r"into s \(shared\)",),
        values=[5] * 64,
    ),
    Pair(
        id="column-by-column",
        kind="uncoalesced",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int j = 0; j < n; ++j) sum += x[t * n + j];
  y[t] = sum;
}
""",
        edits=(("x[t * n + j]", "x[j * n + t]"),),
        args=lambda: [floats(32, 32), zeros(32), i32(32)],
        fields=dict(array="x", line=4),
        says=(r"reads of x on line 4", r"\b32 sectors", r"\b4 would do"),
    ),
    Pair(
        id="stride-two-store",
        kind="uncoalesced",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[8 * i] = x[i];
}
""",
        edits=(("8 * i", "i"),),
        args=lambda: [floats(64), zeros(512)],
        grid=2,
        fields=dict(array="y", line=3),
        says=(r"writes of y on line 3",),
    ),
    Pair(
        id="transposed-tile",
        kind="bank-conflict",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32][32];
  int c = threadIdx.x, r = threadIdx.y;
  tile[r][c] = x[r * 32 + c];
  __syncthreads();
  y[r * 32 + c] = tile[c][r];
}
""",
        edits=(("tile[32][32]", "tile[32][33]"),),
        args=lambda: [floats(32, 32), zeros(1024)],
        block=(32, 32),
        fields=dict(array="tile", line=6),
        says=(r"tile on line 6", r"\b32 passes", r"\b1 would do", r"Pad"),
        values=floats(32, 32).T,
    ),
    Pair(
        id="odd-and-even-threads",
        kind="divergence",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  int t = threadIdx.x;
  float a = x[t];
  if (t % 2 == 0) { for (int i = 0; i < n; ++i) a = a * 0.5f + sqrtf(a); }
  else            { for (int i = 0; i < n; ++i) a = a * 0.25f + rsqrtf(a + 1.0f); }
  y[t] = a;
}
""",
        edits=(("t % 2 == 0", "t / 32 % 2 == 0"),),
        args=lambda: [floats(64), zeros(64), i32(20)],
        block=64,
        says=(r"warps split at the branch on line 4", r"16\.0 of 32"),
    ),
    Pair(
        id="array-with-an-index-known-at-run-time",
        kind="local-memory",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = x[i] * 2;
  y[threadIdx.x] = a[x[threadIdx.x]];
}
""",
        edits=(("a[x[threadIdx.x]]", "a[3]"),),
        args=lambda: [np.arange(16, dtype=i32), zeros(16, i32)],
        block=16,
        fields=dict(array="a"),
        says=(r"64 bytes", r"a\b"),
        values=[6] * 16,
    ),
    Pair(
        id="reduction-that-drops-elements",
        kind="unread-shared",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float s[96];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) s[t] += s[t + stride];
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}
""",
        args=lambda: [floats(96), zeros(1)],
        block=96,
        clean_block=64,
        fields=dict(array="s"),
        says=(r"s\[2\]", r"never read"),
        values=[2016],
    ),
    Pair(
        id="two-extern-arrays",
        kind="aliased-shared",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  extern __shared__ float a[];
  extern __shared__ float b[];
  a[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = 2.0f * a[threadIdx.x];
  y[threadIdx.x] = b[threadIdx.x];
}
""",
        edits=(("extern __shared__ float b[]", "float* b = a + blockDim.x"),),
        args=lambda: [floats(32), zeros(32)],
        shared_bytes=256,
        says=(r"\ba and b\b|\bb and a\b", r"same address"),
        values=2 * np.arange(32),
    ),
    Pair(
        id="product-of-two-ints",
        kind="index-wrapped",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  int base = n * n;
  y[threadIdx.x] = x[base + threadIdx.x];
}
""",
        edits=(("n * n", "n"),),
        args=lambda: [floats(64), zeros(32), i32(65536)],
        clean_args=lambda: [floats(64), zeros(32), i32(32)],
        fields=dict(array="x"),
        says=(r"long long", r"line [23]"),
        values=np.arange(32, 64),
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.kind}-{p.id}")
def test_faulty(pair):
    check_faulty(pair)
    assert launch(pair.faulty, pair.args(), pair.grid, pair.block, pair.shared_bytes).ok


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.kind}-{p.id}")
def test_clean(pair):
    check_clean(pair)


def test_a_hash_that_wraps_on_purpose_is_quiet():
    source = 'extern "C" __global__ void k(unsigned* y) { unsigned h = threadIdx.x * 2654435761u + 12345u; y[h % 32] = 1; }'
    assert not [f for f in launch(source, [zeros(32, np.uint32)]).findings if f.kind == "index-wrapped"]


def test_a_broadcast_is_neither_uncoalesced_nor_a_conflict():
    source = """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = x[3];
  __syncthreads();
  y[threadIdx.x] = s[7];
}
"""
    kinds = {f.kind for f in launch(source, [floats(32), zeros(32)]).findings}
    assert not kinds & {"uncoalesced", "bank-conflict"}


def test_float4_accesses_are_coalesced_and_without_conflict():
    source = """
extern "C" __global__ void k(const float4* x, float4* y) {
  __shared__ float4 s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = s[31 - threadIdx.x];
}
"""
    report = launch(source, [floats(128), zeros(128)])
    assert report.findings == [], messages(report.findings)
    assert report.counters.global_load_sectors == 16 and report.counters.shared_load_wavefronts == 4


def test_a_guard_that_splits_only_the_last_warp_is_quiet():
    source = 'extern "C" __global__ void k(float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = i; }'
    assert launch(source, [zeros(1000), i32(1000)], 8, 128).findings == []


def test_counters_of_the_lines_add_up_to_those_of_the_launch():
    source = PAIRS[4].faulty
    report = launch(source, PAIRS[4].args(), block=(32, 32))
    traffic = ("global_load_requests", "global_load_sectors", "global_store_sectors", "shared_load_wavefronts", "shared_store_wavefronts")
    for name in (*traffic, "warp_instructions", "barriers"):
        assert sum(getattr(line, name) for line in report.by_line.values()) == getattr(report.counters, name), name
    assert report.by_line[6].shared_load_wavefronts == 32 * 32 and report.by_line[4].shared_store_wavefronts == 32
