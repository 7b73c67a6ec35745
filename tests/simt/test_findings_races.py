"""Races: every way in which two accesses can lack order, each beside a kernel in which they have it. Lockstep would hide most of them."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import Pair, check_clean, check_faulty, f32, i32, launch, messages

from lanewise import simt

REVERSE = """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[63 - t];
}
"""

SPIN_LOCK = """
extern "C" __global__ void k(int* lock, int* y) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) { }
    __threadfence();
    *y += blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
  }
}
"""

LAST_BLOCK = """
extern "C" __global__ void k(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += part[i];
    *y = sum;
  }
}
"""

FLAG = """
extern "C" __global__ void k(volatile int* flag, int* data, int* y) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x + 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0) while (*flag == 0) { }
    __syncthreads();
    __threadfence();
    y[threadIdx.x] = data[threadIdx.x];
  }
}
"""


def ints(n):
    return np.arange(n, dtype=i32)


def zeros(n, dtype=i32):
    return np.zeros(n, dtype)


def last_block_args():
    return [ints(8), zeros(8), zeros(1, np.uint32), zeros(1)]


def drop(text, line):
    """`text` without the line that holds `line`, which must occur once; the numbers of the other lines stay."""
    assert text.count(line) == 1
    return text.replace(line, "")


def restored(text, gap, line):
    """The edit that puts `line` back where `gap` stands in `text`."""
    assert text.count(gap) == 1
    return ((gap, line),)


PAIRS = [
    # ------------------------------------------------------------------------ shared memory
    Pair(
        id="shared-read-after-write",
        kind="race",
        faulty=drop(REVERSE, "  __syncthreads();"),
        edits=restored(REVERSE.replace("  __syncthreads();", ""), "s[t] = x[t];\n", "s[t] = x[t]; __syncthreads();\n"),
        args=lambda: [ints(64), zeros(64)],
        block=64,
        fields=dict(array="s", line=6),
        says=(
            r"race on s\[\d+\] \(shared, line 6\): thread \(\d+,0,0\) reads it while thread \(\d+,0,0\) writes it on line 4",
            r"no __syncthreads\(\) stands between\. .*Put one after line 4\.",
        ),
        values=np.arange(64)[::-1],
    ),
    Pair(
        id="shared-write-after-read",
        kind="race",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  int v = s[63 - t];

  s[t] = v + 1;
  y[t] = s[t];
}
""",
        edits=(("63 - t];\n\n", "63 - t];\n  __syncthreads();\n"),),
        args=lambda: [ints(64), zeros(64)],
        block=64,
        fields=dict(array="s"),
        says=(r"line 6", r"line 8", r"no __syncthreads\(\)", r"after line 6"),
        values=64 - np.arange(64),
    ),
    Pair(
        id="shared-write-after-write",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t & 31] = t;
  __syncthreads();
  if (t < 32) y[t] = s[t];
}
""",
        edits=(("s[t & 31] = t", "s[t] = t"),),
        args=lambda: [zeros(32)],
        block=64,
        fields=dict(array="s", line=4),
        says=(r"writes it while thread \(\d+,0,0\) writes it", r"line 4"),
        values=np.arange(32),
    ),
    Pair(
        id="inside-a-warp",
        kind="race",
        faulty=drop(REVERSE, "  __syncthreads();").replace("63", "31"),
        edits=(("s[t] = x[t];\n", "s[t] = x[t]; __syncwarp();\n"),),
        args=lambda: [ints(32), zeros(32)],
        fields=dict(array="s", line=6),
        says=(r"no __syncwarp\(\) stands between", r"line 4"),
        values=np.arange(32)[::-1],
    ),
    Pair(
        id="syncwarp-does-not-order-two-warps",
        kind="race",
        faulty=REVERSE.replace("__syncthreads", "__syncwarp"),
        edits=(("__syncwarp", "__syncthreads"),),
        args=lambda: [ints(64), zeros(64)],
        block=64,
        fields=dict(array="s", line=6),
        says=(r"no __syncthreads\(\) stands between",),
        values=np.arange(64)[::-1],
    ),
    Pair(
        id="a-shuffle-does-not-order-memory",
        kind="race",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  int v = __shfl_xor_sync(0xffffffff, t, 1);
  y[t] = s[v];
}
""",
        edits=(("  y[t]", "  __syncwarp();\n  y[t]"),),
        args=lambda: [ints(32), zeros(32)],
        fields=dict(array="s", line=6),
        says=(r"no __syncwarp\(\)",),
        values=np.arange(32) ^ 1,
    ),
    Pair(
        id="volatile-shared-is-plain",
        kind="race",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ volatile int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    int v = s[t] + s[t + 32];
    s[t] = v;
    v += s[t ^ 1];
    y[t] = v;
  }
}
""",
        edits=(("    s[t] = v;\n", "    s[t] = v; __syncwarp();\n"),),
        args=lambda: [ints(64), zeros(32)],
        block=64,
        fields=dict(array="s"),
        says=(r"line 9", r"line 8", r"no __syncwarp\(\)"),
        values=[2 * t + 32 + 2 * (t ^ 1) + 32 for t in range(32)],
    ),
    Pair(
        id="half-words-of-one-word-are-apart",
        kind="race",
        faulty="""
extern "C" __global__ void k(unsigned short* y) {
  __shared__ unsigned short s[64];
  int t = threadIdx.x;
  s[t] = t;
  y[t] = s[t ^ 32];
}
""",
        edits=(("s[t ^ 32]", "s[t]"),),
        args=lambda: [zeros(64, np.uint16)],
        block=64,
        fields=dict(array="s", line=5),
        says=(r"line 4",),
        values=np.arange(64),
    ),
    Pair(
        id="increment-in-shared-memory",
        kind="race",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int bins[4];
  int t = threadIdx.x;
  if (t < 4) bins[t] = 0;
  __syncthreads();
  bins[x[t]] += 1;
  __syncthreads();
  if (t < 4) y[t] = bins[t];
}
""",
        edits=(("bins[x[t]] += 1", "atomicAdd(&bins[x[t]], 1)"),),
        args=lambda: [ints(64) % 4, zeros(4)],
        block=64,
        fields=dict(array="bins", line=6),
        says=(r"race on bins\[\d\]", r"use atomicAdd"),
        values=[16] * 4,
    ),
    Pair(
        id="tree-without-its-barrier",
        kind="race",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int stride = 64; stride > 0; stride /= 2) {
    if (t < stride) s[t] += s[t + stride];

  }
  if (t == 0) *y = s[0];
}
""",
        edits=(("stride];\n\n", "stride];\n    __syncthreads();\n"),),
        args=lambda: [ints(128), zeros(1)],
        block=128,
        fields=dict(array="s", line=7),
        values=[127 * 64],
    ),
    # ------------------------------------------------------------------------ global memory
    Pair(
        id="global-inside-a-block",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* x, int* y) {
  int t = threadIdx.x;
  x[t] = t + 1;

  y[t] = x[63 - t];
}
""",
        edits=(("t + 1;\n\n", "t + 1;\n  __syncthreads();\n"),),
        args=lambda: [zeros(64), zeros(64)],
        block=64,
        fields=dict(array="x", line=5),
        says=(r"global, line 5", r"line 3", r"no __syncthreads\(\)", r"Put one after line 3"),
        values=64 - np.arange(64),
    ),
    Pair(
        id="global-between-blocks-write-write",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* y) {
  y[threadIdx.x] = blockIdx.x;
}
""",
        edits=(("y[threadIdx.x]", "y[blockIdx.x * blockDim.x + threadIdx.x]"),),
        args=lambda: [zeros(64)],
        grid=2,
        fields=dict(array="y", line=2),
        says=(r"of block \(\d,0,0\) writes it while thread \(\d+,0,0\) of block \(\d,0,0\) writes it", r"nothing orders two blocks"),
        values=np.repeat([0, 1], 32),
    ),
    Pair(
        id="global-between-blocks-barrier-does-not-help",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
  __syncthreads();
  y[i] = x[n - 1 - i];
}
""",
        edits=(("x[n - 1 - i]", "x[i ^ 1]"),),
        args=lambda: [zeros(64), zeros(64), i32(64)],
        grid=2,
        fields=dict(array="x"),
        says=(r"line 3", r"line 5", r"nothing orders two blocks"),
        values=np.arange(64) ^ 1,
    ),
    Pair(
        id="stencil-in-place",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int next = i + 1 < n ? x[i + 1] : 0;
  x[i] = x[i] + next;
}
""",
        edits=(("  x[i] = x", "  out[i] = x"),),
        args=lambda: [ints(64), zeros(64), i32(64)],
        grid=2,
        fields=dict(array="x"),
        values=np.r_[2 * np.arange(63) + 1, 63],
    ),
    Pair(
        id="counter-without-atomic",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* y) {
  y[0] += 1;
}
""",
        edits=(("y[0] += 1", "atomicAdd(y, 1)"),),
        args=lambda: [zeros(1)],
        grid=2,
        fields=dict(array="y", line=2),
        says=(r"use atomicAdd",),
        values=[64],
    ),
    Pair(
        id="plain-read-against-atomic",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* sum, int* y) {
  atomicAdd(sum, 1);

  if (threadIdx.x == 0) y[0] = *sum;
}
""",
        edits=(("1);\n\n", "1);\n  __syncthreads();\n"),),
        args=lambda: [zeros(1), zeros(1)],
        block=64,
        fields=dict(array="sum"),
        says=(r"atomically", r"line 2", r"line 4"),
        values=[64],
    ),
    Pair(
        id="plain-write-against-atomic",
        kind="race",
        faulty="""
extern "C" __global__ void k(int* sum) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *sum = 0;
  __syncthreads();
  atomicAdd(sum, 1);
}
""",
        edits=(("  if (blockIdx.x == 0 && threadIdx.x == 0) *sum = 0;\n", ""),),
        args=lambda: [zeros(1)],
        grid=2,
        fields=dict(array="sum"),
        says=(r"atomically", r"line 2", r"line 4", r"nothing orders two blocks"),
        values=[64],
    ),
    # ------------------------------------------------------------------------ order by atomics and fences
    Pair(
        id="spin-lock-without-fences",
        kind="race",
        faulty=SPIN_LOCK.replace("    __threadfence();\n", "\n"),
        edits=(("{ }\n\n", "{ }\n    __threadfence();\n"), ("blockIdx.x;\n\n", "blockIdx.x;\n    __threadfence();\n")),
        args=lambda: [zeros(1), zeros(1)],
        grid=6,
        fields=dict(array="y", line=5),
        says=(r"__threadfence\(\)",),
        values=[15],
    ),
    Pair(
        id="spin-lock-with-plain-unlock",
        kind="race",
        faulty=SPIN_LOCK.replace("atomicExch(lock, 0)", "*lock = 0"),
        edits=(("*lock = 0", "atomicExch(lock, 0)"),),
        args=lambda: [zeros(1), zeros(1)],
        grid=6,
        fields=dict(array="lock"),
        says=(r"atomically", r"line 3", r"line 7"),
        also=frozenset(),
        values=[15],
    ),
    Pair(
        id="last-block-without-fence",
        kind="race",
        faulty=LAST_BLOCK.replace("blockIdx.x];\n    __threadfence();\n", "blockIdx.x];\n\n"),
        edits=(("blockIdx.x];\n\n", "blockIdx.x];\n    __threadfence();\n"),),
        args=last_block_args,
        grid=8,
        fields=dict(array="part", line=12),
        says=(r"line 4", r"__threadfence\(\)"),
        values=[28],
    ),
    Pair(
        id="flag-without-fence",
        kind="race",
        faulty=FLAG.replace("    __threadfence();\n", "\n"),
        edits=(("+ 1;\n\n", "+ 1;\n    __threadfence();\n"), ("__syncthreads();\n\n", "__syncthreads();\n    __threadfence();\n")),
        args=lambda: [zeros(1), zeros(32), zeros(32)],
        grid=2,
        fields=dict(array="data"),
        says=(r"line 3", r"line 11"),
        values=np.arange(1, 33),
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.id)
def test_faulty(pair):
    check_faulty(pair)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.id)
def test_clean(pair):
    check_clean(pair)


@pytest.mark.parametrize("schedule", [1, 2, 3])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.id)
def test_the_verdict_does_not_depend_on_the_schedule(pair, schedule):
    faulty = launch(pair.faulty, pair.args(), pair.grid, pair.block, schedule=schedule)
    assert {f.kind for f in faulty.errors} == {"race"}, messages(faulty.findings)
    clean = launch(pair.clean, pair.args(), pair.grid, pair.block, schedule=schedule)
    assert clean.ok, messages(clean.findings)


@pytest.mark.parametrize("last_fence", [True, False])
def test_last_block_done_is_quiet_with_and_without_the_readers_own_fence(last_fence):
    """CUDA's guide writes the pattern with one fence, before the counter."""
    source = LAST_BLOCK if last_fence else LAST_BLOCK.replace("0) {\n    __threadfence();\n", "0) {\n\n")
    args = last_block_args()
    report = launch(source, args, 8, 64)
    assert report.ok and args[-1][0] == 28, messages(report.findings)


def test_a_lock_taken_by_every_thread_is_quiet():
    source = """
extern "C" __global__ void k(int* lock, int* y) {
  for (int done = 0; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *y += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = 1;
    }
  }
}
"""
    args = [zeros(1), zeros(1)]
    report = launch(source, args, 2, 40)
    assert report.ok and args[1][0] == 80, messages(report.findings)


def test_volatile_flags_and_data_are_quiet():
    args = [zeros(1), zeros(32), zeros(32)]
    report = launch(FLAG.replace("int* data", "volatile int* data").replace("    __threadfence();\n", ""), args, 2)
    assert report.ok and np.array_equal(args[2], np.arange(1, 33)), messages(report.findings)


def test_float_atomics_whose_order_varies_are_quiet():
    source = 'extern "C" __global__ void k(const float* x, float* y) { atomicAdd(y, x[blockIdx.x * blockDim.x + threadIdx.x]); }'
    args = [np.full(256, 0.1, f32), np.zeros(1, f32)]
    assert launch(source, args, 4, 64).findings == []
    assert abs(args[1][0] - 25.6) < 1e-3


def test_a_race_counts_its_pairs_and_names_both_parties():
    source = drop(REVERSE, "  __syncthreads();")
    finding = launch(source, [ints(64), zeros(64)], block=64).errors[0]
    assert finding.count > 1
    assert finding.other is not None and {finding.line, finding.other.line} == {4, 6}
    reader, writer = finding.thread, finding.other.thread
    assert reader[0] + writer[0] == 63 and reader[0] // 32 != writer[0] // 32
    assert finding.index == writer[0]


def test_a_race_on_two_dimensions_is_named_as_in_the_source():
    source = """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[8][9];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
  y[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
    finding = launch(source, [np.zeros(64, f32), np.zeros(64, f32)], block=(8, 8)).errors[0]
    row, column = finding.index
    assert f"race on tile[{row}][{column}] (shared, line 4)" in finding.message
    assert finding.other is not None and finding.other.thread == (column, row, 0)


def test_blocks_never_share_shared_memory():
    report = launch(REVERSE, [ints(64), zeros(64)], 8, 64)
    assert {f.kind for f in report.findings} == {"same-value-write"}, messages(report.findings)  # all blocks store the same y


def test_a_race_leaves_no_remark_on_the_same_line():
    """All threads of an increment store 1: that is the race, not a harmless store of one value."""
    pair = next(p for p in PAIRS if p.id == "counter-without-atomic")
    assert {f.kind for f in launch(pair.faulty, pair.args(), pair.grid, pair.block).findings} == {"race"}


def test_views_of_one_array_alias():
    pool = ints(64)
    source = 'extern "C" __global__ void k(int* a, int* b) { a[threadIdx.x] = threadIdx.x; b[threadIdx.x] = threadIdx.x + 7; }'
    assert {f.kind for f in launch(source, [pool[:32], pool[16:48]]).errors} == {"race"}
    assert launch(source, [pool[:32], pool[32:]]).ok


def test_an_output_that_two_launches_share_starts_anew():
    y = zeros(32)
    kernel = simt.compile('extern "C" __global__ void k(int* y) { y[threadIdx.x] = threadIdx.x; }').kernel("k")
    assert kernel.launch(1, 32, [y]).findings == [] and kernel.launch(1, 32, [y]).findings == []
