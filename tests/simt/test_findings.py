"""Memory: out of bounds, misaligned, never set, never written; and launches that are refused. A faulty and a clean kernel each."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import Pair, check_clean, check_faulty, f32, i32, launch, messages

from lanewise import simt


def floats(n, start=0):
    return np.arange(start, start + n, dtype=f32)


def zeros(n, dtype=f32):
    return np.zeros(n, dtype)


PAIRS = [
    # ------------------------------------------------------------------------ out of bounds
    Pair(
        id="global-write-behind-the-end",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i % n];
}
""",
        args=lambda: [floats(40), zeros(40), i32(40)],
        edits=(("y[i] =", "if (i < n) y[i] ="),),
        grid=2,
        fields=dict(array="y", index=40, thread=(8, 0, 0), block=(1, 0, 0), line=3, count=24),
        says=(r"thread \(8,0,0\) of block \(1,0,0\) writes y\[40\]", r"line 3", r"40 elements", r"24 writes", r"y\[40\.\.63\]", r"if \(i < n\)"),
        values=np.arange(40),
    ),
    Pair(
        id="global-read-behind-the-end",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  int i = threadIdx.x;
  float next = x[i + 1];
  y[i] = next;
}
""",
        args=lambda: [floats(32), zeros(32), i32(32)],
        edits=(("x[i + 1]", "i + 1 < n ? x[i + 1] : 0.0f"),),
        fields=dict(array="x", index=32, thread=(31, 0, 0), block=(0, 0, 0), line=3, count=1),
        says=(r"reads x\[32\]", r"x has 32 elements"),
        values=np.r_[np.arange(1, 32), 0],
    ),
    Pair(
        id="global-before-the-start",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  int i = threadIdx.x;
  y[i] = x[i - 1];
}
""",
        args=lambda: [floats(32), zeros(32)],
        edits=(("x[i - 1]", "i > 0 ? x[i - 1] : 0.0f"),),
        fields=dict(array="x", index=-1, thread=(0, 0, 0), line=3),
        says=(r"reads x\[-1\]", r"negative"),
        values=np.r_[0, np.arange(31)],
    ),
    Pair(
        id="empty-array",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  y[threadIdx.x] = x[threadIdx.x];
}
""",
        args=lambda: [zeros(0), zeros(32), i32(0)],
        edits=(("= x[threadIdx.x]", "= threadIdx.x < n ? x[threadIdx.x] : 0.0f"),),
        fields=dict(array="x", index=0, count=32),
        says=(r"x has no elements",),
        values=np.zeros(32),
    ),
    Pair(
        id="global-through-float4",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const float4* x, float4* y, int n) {
  int i = threadIdx.x;
  if (4 * i < n) y[i] = x[i];
}
""",
        args=lambda: [floats(10), zeros(12), i32(10)],
        edits=(("4 * i < n", "4 * i + 3 < n"),),
        fields=dict(array="x", thread=(2, 0, 0), line=3),
        says=(r"x\[8\.\.11\]", r"10 elements", r"last 2"),
        values=np.r_[np.arange(8), np.zeros(4)],
    ),
    Pair(
        id="shared",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(float* y) {
  __shared__ float s[8][4];
  int t = threadIdx.x;
  s[t / 4][t % 4] = t;
  __syncthreads();
  y[t] = s[t / 4 + 1][t % 4];
}
""",
        args=lambda: [zeros(32)],
        edits=(("t / 4 + 1", "7 - t / 4"),),
        fields=dict(array="s", line=6, thread=(28, 0, 0), count=4),
        says=(r"reads s\[8\]\[0\]", r"32 elements: \[8\]\[4\]", r"shared"),
        values=[28 - t // 4 * 4 + t % 4 for t in range(32)],
    ),
    Pair(
        id="dynamic-shared",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(float* y) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = buffer[threadIdx.x];
}
""",
        args=lambda: [zeros(32)],
        edits=(("  buffer[threadIdx.x] =", "  if (threadIdx.x >= 16) return;\n  buffer[threadIdx.x] ="),),
        shared_bytes=64,
        fields=dict(array="buffer", index=16, thread=(16, 0, 0), line=3, count=16),
        says=(r"buffer\[16\]", r"16 elements"),
        values=np.r_[np.arange(16), np.zeros(16)],
    ),
    Pair(
        id="local",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  int a[4];
  for (int i = 0; i < 4; ++i) a[i] = x[i];
  y[threadIdx.x] = a[x[threadIdx.x]];
}
""",
        args=lambda: [np.arange(8, dtype=i32), zeros(8, i32)],
        edits=(("a[x[threadIdx.x]]", "a[x[threadIdx.x] & 3]"),),
        block=8,
        fields=dict(array="a", line=4, thread=(4, 0, 0), count=4),
        says=(r"a\[4\]", r"4 elements"),
        values=np.arange(8) & 3,
    ),
    Pair(
        id="constant",
        kind="out-of-bounds",
        faulty="""
__constant__ int table[4] = {3, 1, 4, 1};
extern "C" __global__ void k(int* y) {
  y[threadIdx.x] = table[threadIdx.x];
}
""",
        args=lambda: [zeros(8, i32)],
        edits=(("table[threadIdx.x]", "table[threadIdx.x & 3]"),),
        block=8,
        fields=dict(array="table", index=4, thread=(4, 0, 0), line=3, count=4),
        says=(r"reads table\[4\]", r"4 elements"),
        values=[3, 1, 4, 1] * 2,
    ),
    Pair(
        id="device-array",
        kind="out-of-bounds",
        faulty="""
__device__ int cells[4];
extern "C" __global__ void k(int* y) {
  cells[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = cells[threadIdx.x & 3];
}
""",
        args=lambda: [zeros(4, i32)],
        clean_args=lambda: [zeros(4, i32)],
        clean_block=4,
        block=5,
        fields=dict(array="cells", index=4, line=3),
        says=(r"writes cells\[4\]",),
        edits=(),
        values=np.arange(4),
        also=frozenset({"race"}),
    ),
    Pair(
        id="atomic",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const int* x, int* bins) {
  atomicAdd(&bins[x[threadIdx.x]], 1);
}
""",
        args=lambda: [np.arange(32, dtype=i32) % 5, zeros(4, i32)],
        edits=(("atomicAdd", "if (x[threadIdx.x] < 4) atomicAdd"),),
        fields=dict(array="bins", index=4, thread=(4, 0, 0), line=2, count=6),
        says=(r"bins\[4\]", r"atomic"),
        values=[7, 7, 6, 6],
    ),
    Pair(
        id="null-pointer",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
""",
        args=lambda: [np.uintp(0), zeros(32)],
        edits=(("= x[threadIdx.x]", "= x ? x[threadIdx.x] : 1.0f"),),
        fields=dict(array="x", line=2, thread=(0, 0, 0)),
        says=(r"null pointer",),
        values=np.ones(32),
    ),
    Pair(
        id="wild-pointer",
        kind="out-of-bounds",
        faulty="""
extern "C" __global__ void k(int* y) {
  *(int*)((unsigned long long)(y + threadIdx.x) + (1ull << 40)) = 1;
}
""",
        args=lambda: [zeros(32, i32)],
        edits=((" + (1ull << 40)", ""),),
        fields=dict(line=2, count=32),
        values=np.ones(32),
    ),
    # ------------------------------------------------------------------------ misaligned
    Pair(
        id="float4-from-an-odd-element",
        kind="misaligned",
        faulty="""
extern "C" __global__ void k(const float* x, float4* y) {
  y[threadIdx.x] = *(const float4*)(x + 4 * threadIdx.x + 1);
}
""",
        args=lambda: [floats(32), zeros(16)],
        edits=(("threadIdx.x + 1", "threadIdx.x"),),
        block=4,
        fields=dict(array="x", index=1, thread=(0, 0, 0), line=2, count=4),
        says=(r"16 bytes", r"x\[1\]", r"multiple of 4"),
        values=np.arange(16),
    ),
    Pair(
        id="float4-of-a-slice",
        kind="misaligned",
        faulty="""
extern "C" __global__ void k(const float4* x, float4* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
""",
        args=lambda: [floats(18)[2:], zeros(16)],
        clean_args=lambda: [floats(20)[4:], zeros(16)],
        block=4,
        fields=dict(array="x", line=2),
        values=np.arange(4, 20),
    ),
    Pair(
        id="float2-in-shared-memory",
        kind="misaligned",
        faulty="""
extern "C" __global__ void k(float2* y) {
  __shared__ __align__(8) float s[68];
  s[2 * threadIdx.x] = threadIdx.x; s[2 * threadIdx.x + 1] = 1.0f;
  if (threadIdx.x == 0) s[64] = 0.0f;
  __syncthreads();
  y[threadIdx.x] = *(float2*)(s + 2 * threadIdx.x + 1);
}
""",
        args=lambda: [zeros(64)],
        edits=(("2 * threadIdx.x + 1);", "2 * threadIdx.x);"),),
        fields=dict(array="s", line=6, thread=(0, 0, 0), count=32),
        says=(r"8 bytes", r"s\[1\]"),
        values=np.stack([np.arange(32), np.ones(32)], 1),
    ),
    # ------------------------------------------------------------------------ uninitialised
    Pair(
        id="shared-never-set",
        kind="uninitialised-read",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  y[t] = s[31 - t];
}
""",
        args=lambda: [floats(30), zeros(32), i32(30)],
        edits=(("if (t < n) s[t] = x[t];", "s[t] = t < n ? x[t] : 0.0f;"),),
        fields=dict(array="s", thread=(0, 0, 0), block=(0, 0, 0), line=6),
        says=(r"reads s\[31\] \(shared\)", r"line 6", r"0 where there is no data"),
        values=np.r_[0, 0, np.arange(30)[::-1]],
    ),
    Pair(
        id="shared-sum-never-zeroed",
        kind="uninitialised-read",
        faulty="""
extern "C" __global__ void k(int* y) {
  __shared__ int sum;
  atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = sum;
}
""",
        args=lambda: [zeros(1, i32)],
        edits=(("atomicAdd(", "if (threadIdx.x == 0) sum = 0;\n  __syncthreads();\n  atomicAdd("),),
        fields=dict(array="sum", line=3),
        says=(r"adds atomically to sum \(shared\)",),
        values=[32],
    ),
    Pair(
        id="output-read-before-it-is-written",
        kind="uninitialised-read",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  y[threadIdx.x] += x[threadIdx.x];
}
""",
        args=lambda: [floats(32), simt.Output(np.zeros(32, f32))],
        edits=(("+=", "="),),
        fields=dict(array="y", index=0, line=2, thread=(0, 0, 0), count=32),
        says=(r"reads y\[0\]",),
        values=np.arange(32),
    ),
    Pair(
        id="output-added-to-atomically",
        kind="uninitialised-read",
        faulty="""
extern "C" __global__ void k(const float* x, float* y) {
  atomicAdd(y, x[threadIdx.x]);
}
""",
        args=lambda: [floats(32), simt.Output(np.zeros(1, f32))],
        clean_args=lambda: [floats(32), zeros(1)],
        fields=dict(array="y", index=0, line=2),
        says=(r"adds atomically to y\[0\]",),
        values=[496],
    ),
    # ------------------------------------------------------------------------ unwritten
    Pair(
        id="every-second-element",
        kind="unwritten-output",
        faulty="""
extern "C" __global__ void k(float* y, int n) {
  int i = threadIdx.x;
  if (i % 2 == 0) y[i] = i;
}
""",
        args=lambda: [simt.Output(np.zeros(32, f32)), i32(32)],
        edits=(("if (i % 2 == 0) ", ""),),
        fields=dict(array="y", index=1, count=16),
        says=(r"16 elements of y", r"first y\[1\]", r"last y\[31\]"),
        values=np.arange(32),
    ),
    Pair(
        id="rows-of-a-matrix",
        kind="unwritten-output",
        faulty="""
extern "C" __global__ void k(int* y, int rows, int cols) {
  int row = blockIdx.x;
  if (row < rows - 1) y[row * cols + threadIdx.x] = row;
}
""",
        args=lambda: [simt.Output(np.zeros((3, 4), i32)), i32(3), i32(4)],
        edits=(("rows - 1", "rows"),),
        grid=3,
        block=4,
        fields=dict(array="y", count=4),
        says=(r"y\[8\.\.11\]", r"y\[2, 0\]"),
        values=np.repeat(np.arange(3), 4),
    ),
    Pair(
        id="nothing-at-all",
        kind="unwritten-output",
        faulty="""
extern "C" __global__ void k(float* y, int n) {
  if (threadIdx.x > n) y[threadIdx.x] = 1.0f;
}
""",
        args=lambda: [simt.Output(np.zeros(32, f32)), i32(32)],
        edits=(("> n", "< n"),),
        fields=dict(array="y", count=32),
        says=(r"y \(32 elements\) is written by nobody",),
        values=np.ones(32),
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.kind}-{p.id}")
def test_faulty(pair):
    check_faulty(pair)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.kind}-{p.id}")
def test_clean(pair):
    check_clean(pair)


# ---------------------------------------------------------------------------------------------- refused launches

FILL = 'extern "C" __global__ void k(float* y, int n) { extern __shared__ float s[]; if (threadIdx.x == 0 && blockIdx.x == 0) y[0] = n; }'


@pytest.mark.parametrize(
    "grid, block, shared_bytes, says",
    [
        (1, 1025, 0, ("1025", "1024")),
        (1, (32, 33), 0, ("1056", "1024")),
        (1, (1, 1, 65), 0, ("65", "64")),
        (0, 32, 0, ("grid", "0")),
        (1, 0, 0, ("block", "0")),
        ((1, 65536), 32, 0, ("65536", "65535")),
        (1, 32, 49153, ("49153", "49152", "max_dynamic_shared_size_bytes")),
    ],
)
def test_a_launch_beyond_the_limits_is_refused_in_words(grid, block, shared_bytes, says):
    y = zeros(4)
    report = launch(FILL, [y, i32(1)], grid, block, shared_bytes)
    assert [f.kind for f in report.findings] == ["launch-refused"] and not report.ok
    message = report.findings[0].message.replace(",", "")
    assert all(word in message for word in says), message
    assert not y.any() and report.counters.as_dict()["warp_instructions"] == 0


def test_a_launch_at_the_limits_runs():
    for grid, block, shared_bytes in [(1, 1024, 0), (1, (1, 1, 64), 0), (1, 32, 49152)]:
        y = zeros(4)
        report = launch(FILL, [y, i32(7)], grid, block, shared_bytes)
        assert report.ok and y[0] == 7, messages(report.findings)


def test_more_shared_memory_than_the_architecture_has_is_refused_even_if_raised():
    kernel = simt.compile(FILL).kernel("k")
    kernel.max_dynamic_shared_size_bytes = 227 * 1024
    assert kernel.launch(1, 32, [zeros(1), i32(1)], 227 * 1024).ok
    kernel.max_dynamic_shared_size_bytes = 300 * 1024
    report = kernel.launch(1, 32, [zeros(1), i32(1)], 300 * 1024)
    assert [f.kind for f in report.findings] == ["launch-refused"]


@pytest.mark.parametrize(
    "args, array, says",
    [
        ([np.zeros(4, np.float64), i32(1)], "y", "float64"),
        ([zeros(4), 1.5], "n", "float"),
        ([zeros(4), f32(1)], "n", "float32"),
        ([zeros(4), None], "n", "None"),
        ([zeros(8)[::2], i32(1)], "y", "ascontiguousarray"),
        ([i32(1), zeros(4)], "y", "array"),
        ([zeros(4)], None, "2"),
        ([zeros(4), i32(1), i32(1)], None, "3"),
    ],
)
def test_arguments_that_do_not_fit_are_named_and_nothing_runs(args, array, says):
    report = launch(FILL, args)
    assert {f.kind for f in report.findings} == {"argument-mismatch"} and not report.ok
    assert array is None or report.findings[0].array == array
    assert says in report.findings[0].message
    assert report.counters.as_dict()["warp_instructions"] == 0


def test_a_python_int_that_works_on_a_gpu_is_a_remark():
    y = zeros(4)
    report = launch(FILL, [y, 5], block=1)
    assert report.ok and y[0] == 5
    assert [(f.kind, f.severity, f.array) for f in report.findings] == [("argument-mismatch", "remark", "n")]


def test_a_refused_launch_leaves_no_unwritten_output():
    report = launch(FILL, [simt.Output(zeros(4)), i32(1)], block=2000)
    assert [f.kind for f in report.findings] == ["launch-refused"]


def test_check_false_turns_the_diagnostics_off_but_never_writes_outside():
    pool = np.full(64, 9, f32)
    y = pool[:32]
    source = 'extern "C" __global__ void k(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1.0f; }'
    launch(source, [y, i32(64)], block=64, check=False)
    assert (pool[:32] == 1).all() and (pool[32:] == 9).all()
    quiet = launch(source, [y, i32(32)], block=64, check=False)
    assert quiet.findings == [] and quiet.counters == launch(source, [y, i32(32)], block=64).counters
