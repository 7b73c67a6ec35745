"""Barriers that not everybody reaches, warp operations with absent lanes, copies that are read too early, programs that never end."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from pairs import Pair, check_clean, check_faulty, f32, i32, launch, messages


def ints(n):
    return np.arange(n, dtype=i32)


def zeros(n, dtype=i32):
    return np.zeros(n, dtype)


CP_ASYNC = """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ __align__(16) float s[128];
  int t = threadIdx.x;
  unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * t);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + 4 * t) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[t] = s[4 * t];
}
"""

CP_GROUPS = """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ __align__(16) float s[2][128];
  int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    unsigned to = (unsigned)__cvta_generic_to_shared(s[i] + 4 * t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + 4 * t + 128 * i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  y[t] = s[1][4 * t];
}
"""

PAIRS = [
    # ------------------------------------------------------------------------ barriers
    Pair(
        id="barrier-in-one-branch",
        kind="barrier-divergence",
        faulty="""
extern "C" __global__ void k(int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (t < 32) __syncthreads();
  s[t] += 1;
  __syncthreads();
  y[t] = s[t];
}
""",
        edits=(("if (t < 32) __syncthreads", "__syncthreads"),),
        args=lambda: [zeros(64)],
        block=64,
        fields=dict(block=(0, 0, 0)),
        says=(r"threads 0\.\.31 wait at the barrier on line 5", r"threads 32\.\.63 wait at the barrier on line 7", r"behind the if"),
        values=np.arange(1, 65),
    ),
    Pair(
        id="barrier-for-half-a-warp",
        kind="barrier-divergence",
        faulty="""
extern "C" __global__ void k(int* y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 16) { s[t] = t; __syncthreads(); }
  else        { s[t] = 2 * t; __syncthreads(); s[t] += 1; }
  y[t] = s[t];
}
""",
        edits=(("s[t] = t; __syncthreads(); }", "s[t] = t; }"), ("s[t] = 2 * t; __syncthreads(); s[t] += 1; }", "s[t] = 2 * t + 1; }\n  __syncthreads();")),
        args=lambda: [zeros(32)],
        says=(r"threads 0\.\.15", r"threads 16\.\.31", r"line 4", r"line 5"),
        values=np.r_[np.arange(16), 2 * np.arange(16, 32) + 1],
    ),
    Pair(
        id="loop-of-different-length",
        kind="barrier-divergence",
        faulty="""
extern "C" __global__ void k(int* y) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) s = 0;
  __syncthreads();
  for (int i = 0; i < 1 + t / 32; ++i) { atomicAdd(&s, 1); __syncthreads(); }
  y[t] = 1;
}
""",
        edits=(("i < 1 + t / 32", "i < 2"),),
        args=lambda: [zeros(64)],
        block=64,
        fields=dict(line=6),
        values=np.ones(64),
    ),
    Pair(
        id="named-barrier-that-waits-for-too-many",
        kind="deadlock",
        faulty="""
extern "C" __global__ void k(int* y) {
  int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  y[t] = t;
}
""",
        edits=(("bar.sync 1, 64", "bar.sync 1, 32"),),
        args=lambda: [zeros(64)],
        block=64,
        fields=dict(line=4, block=(0, 0, 0)),
        says=(r"64 threads at barrier 1", r"32 came", r"threads 0\.\.31"),
        values=np.arange(64),
    ),
    # ------------------------------------------------------------------------ warps
    Pair(
        id="ballot-of-a-full-mask-in-a-branch",
        kind="warp-mask",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  int t = threadIdx.x, v;
  if (t < 16) v = __ballot_sync(0xffffffff, x[t] & 1);
  else v = __shfl_xor_sync(0xffff0000, x[t], 1);
  y[t] = v;
}
""",
        edits=(("0xffffffff", "0xffff"),),
        args=lambda: [ints(32), zeros(32)],
        fields=dict(line=3, block=(0, 0, 0)),
        says=(r"0xffffffff", r"lanes 16\.\.31", r"line 3", r"ballot|vote"),
        values=np.r_[np.full(16, 0xAAAA), np.arange(16, 32) ^ 1],
    ),
    Pair(
        id="lane-that-is-not-in-its-own-mask",
        kind="warp-mask",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  int t = threadIdx.x;
  y[t] = __shfl_sync(0xffff, x[t], 3);
}
""",
        edits=(("0xffff,", "0xffffffff,"),),
        args=lambda: [ints(32), zeros(32)],
        fields=dict(line=3),
        says=(r"0x0000ffff", r"mask"),
        values=np.full(32, 3),
    ),
    Pair(
        id="shuffle-from-lanes-that-do-not-exist",
        kind="warp-mask",
        faulty="""
extern "C" __global__ void k(const int* x, int* y) {
  int t = threadIdx.x, v = x[t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) y[t / 32] = v;
}
""",
        edits=(),
        args=lambda: [ints(48), zeros(2)],
        clean_args=lambda: [ints(64), zeros(2)],
        block=48,
        clean_block=64,
        fields=dict(block=(0, 0, 0)),
        says=(r"thread \(32,0,0\)", r"lane 16 by __shfl_down_sync on line 3", r"isn't there", r"used on line 4"),
        values=[496, 1520],
    ),
    Pair(
        id="shuffle-from-a-lane-that-has-returned",
        kind="warp-mask",
        faulty="""
extern "C" __global__ void k(const float* x, float* y, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
  if (t == 0) *y = v;
}
""",
        edits=(("  if (t >= n) return;\n  float v = x[t];", "\n  float v = t < n ? x[t] : 0.0f;"),),
        args=lambda: [np.arange(20, dtype=f32), zeros(1, f32), i32(20)],
        fields=dict(line=5),
        says=(r"lane \d+", r"used"),
        values=[19],
    ),
    # ------------------------------------------------------------------------ asynchronous copies
    Pair(
        id="no-wait",
        kind="async-copy",
        faulty=CP_ASYNC.replace('  asm volatile("cp.async.wait_all;" ::: "memory");', ""),
        edits=(("memory\");\n\n", 'memory");\n  asm volatile("cp.async.wait_all;" ::: "memory");\n'),),
        args=lambda: [np.arange(128, dtype=f32), zeros(32, f32)],
        fields=dict(array="s", line=7, thread=(0, 0, 0)),
        says=(r"s\[0\]", r"line 7", r"line 5", r"Wait for the copy"),
        values=np.arange(0, 128, 4),
    ),
    Pair(
        id="wait-that-leaves-one-group",
        kind="async-copy",
        faulty=CP_GROUPS.replace("wait_group 0", "wait_group 1"),
        edits=(("wait_group 1", "wait_group 0"),),
        args=lambda: [np.arange(256, dtype=f32), zeros(32, f32)],
        fields=dict(array="s", line=10),
        says=(r"s\[1\]\[0\]", r"line 6", r"one group less"),
        values=np.arange(128, 256, 4),
    ),
    Pair(
        id="pipeline-primitives-without-wait",
        kind="async-copy",
        faulty="""
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  __pipeline_memcpy_async(s + t, x + t, 4);
  __pipeline_commit();

  y[t] = s[t];
}
""",
        edits=(("commit();\n\n", "commit();\n  __pipeline_wait_prior(0);\n"),),
        args=lambda: [np.arange(32, dtype=f32), zeros(32, f32)],
        fields=dict(array="s", line=8),
        values=np.arange(32),
    ),
    # ------------------------------------------------------------------------ programs that do not end
    Pair(
        id="collatz-of-zero",
        kind="step-limit",
        faulty="""
extern "C" __global__ void k(const unsigned* x, unsigned* y) {
  unsigned v = x[threadIdx.x], steps = 0;
  while (v != 1) { v = v % 2 ? 3 * v + 1 : v / 2; ++steps; }
  y[threadIdx.x] = steps;
}
""",
        edits=(("v != 1", "v > 1"),),
        args=lambda: [np.array([0, 1, 2, 3, 6, 27], np.uint32), zeros(6, np.uint32)],
        block=6,
        fields=dict(line=3),
        says=(r"line 3", r"step", r"ends the loop"),
        values=[0, 0, 1, 7, 8, 111],
    ),
]


# A loop that counts may still end, so the simulator looks on for a while.
@pytest.mark.parametrize("pair", [pytest.param(p, id=f"{p.kind}-{p.id}", marks=[pytest.mark.slow] if p.id == "collatz-of-zero" else []) for p in PAIRS])
def test_faulty(pair):
    check_faulty(pair)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.kind}-{p.id}")
def test_clean(pair):
    check_clean(pair)


@pytest.mark.parametrize("grid, block", [(1, 1), (1, 64), (4, 128)])
def test_a_flag_that_nobody_sets_ends_soon(grid, block):
    source = """
extern "C" __global__ void k(volatile int* flag, int* y) {
  while (*flag == 0) { }
  y[0] = 1;
}
"""
    y, start = zeros(1), time.process_time()
    report = launch(source, [zeros(1), y], grid, block)
    assert {f.kind for f in report.errors} <= {"step-limit", "deadlock"} and not report.ok
    assert report.errors[0].line == 2 and y[0] == 0
    assert time.process_time() - start < 10


def test_a_flag_that_is_set_before_is_no_fault():
    source = 'extern "C" __global__ void k(volatile int* flag, int* y) { while (*flag == 0) { } y[threadIdx.x] = 1; }'
    args = [np.ones(1, i32), zeros(32)]
    report = launch(source, args)
    assert report.ok and args[1].all()


def test_a_lock_that_is_never_released_ends():
    source = 'extern "C" __global__ void k(int* lock, int* y) { while (atomicCAS(lock, 0, 1)) { } __threadfence(); y[blockIdx.x] = 1; }'
    report = launch(source, [zeros(1), zeros(4)], 4, 1)
    assert {f.kind for f in report.errors} <= {"step-limit", "deadlock"} and not report.ok


def test_max_steps_is_obeyed():
    source = 'extern "C" __global__ void k(volatile int* y, int n) { for (int i = 0; i < n; ++i) y[0] = i; }'
    assert launch(source, [zeros(1), i32(4000)], block=1).ok
    report = launch(source, [zeros(1), i32(4000)], block=1, max_steps=100)
    assert [f.kind for f in report.errors] == ["step-limit"]
    assert re.search(r"after 10[01] steps", report.errors[0].message)


def test_a_long_loop_that_ends_is_no_fault():
    source = 'extern "C" __global__ void k(volatile int* y, int n) { for (int i = 1; i <= n; ++i) y[0] = i; }'
    y = zeros(1)
    assert launch(source, [y, i32(5000)], block=1).ok and y[0] == 5000


# ---------------------------------------------------------------------------------------------- suspicious, but right


def test_an_absent_lane_whose_value_is_never_used_is_quiet():
    source = """
extern "C" __global__ void k(const int* x, int* y) {
  int t = threadIdx.x;
  if (t >= 16) return;
  int w = __shfl_down_sync(0xffffffff, x[t], 8);
  y[t] = t < 8 ? w : -1;
}
"""
    args = [ints(32), zeros(16)]
    report = launch(source, args)
    assert report.ok, messages(report.findings)
    assert np.array_equal(args[1], np.r_[np.arange(8, 16), np.full(8, -1)])


def test_a_partial_warp_with_its_own_mask_is_quiet():
    source = """
extern "C" __global__ void k(const int* x, int* y, int n) {
  int t = threadIdx.x;
  unsigned mask = __ballot_sync(0xffffffff, t < n);
  if (t < n) {
    int v = x[t];
    for (int d = 1; d < n; d *= 2) { int w = __shfl_up_sync(mask, v, d); if (t >= d) v += w; }
    y[t] = v;
  }
}
"""
    args = [np.ones(20, i32), zeros(20), i32(20)]
    report = launch(source, args)
    assert report.ok, messages(report.findings)
    assert np.array_equal(args[1], np.arange(1, 21))


def test_activemask_in_a_branch_is_quiet():
    source = """
extern "C" __global__ void k(int* y) {
  int t = threadIdx.x, v = 0;
  if (t % 4 == 0) v = __popc(__ballot_sync(__activemask(), 1));
  y[t] = v;
}
"""
    args = [zeros(32)]
    report = launch(source, args)
    assert report.ok, messages(report.findings)
    assert args[0].reshape(-1, 4)[:, 0].tolist() == [8] * 8


def test_barrier_in_a_branch_that_all_threads_take_is_quiet():
    source = """
extern "C" __global__ void k(int* y, int n) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  if (n > 3) { __syncthreads(); y[threadIdx.x] = s[63 - threadIdx.x]; }
}
"""
    args = [zeros(64), i32(4)]
    assert launch(source, args, block=64).ok and args[0][0] == 63


def test_threads_that_have_ended_are_not_awaited_at_a_barrier():
    """Since Volta a barrier waits for the threads of the block that have not ended."""
    source = """
extern "C" __global__ void k(const int* x, int* y, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t >= n) return;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[n - 1 - t];
}
"""
    args = [ints(40), zeros(40), i32(40)]
    report = launch(source, args, block=64)
    assert report.ok, messages(report.findings)
    assert np.array_equal(args[1], np.arange(40)[::-1])


def test_async_copy_read_by_another_thread_needs_the_barrier_too():
    source = CP_ASYNC.replace("s[4 * t]", "s[124 - 4 * t]")
    assert {f.kind for f in launch(source, [np.zeros(128, f32), np.zeros(32, f32)]).errors} <= {"race", "async-copy"}
    assert not launch(source, [np.zeros(128, f32), np.zeros(32, f32)]).ok
    whole = source.replace("  y[t]", "  __syncthreads();\n  y[t]")
    assert launch(whole, [np.zeros(128, f32), np.zeros(32, f32)]).ok


def test_trap_and_assert_stop_the_kernel_and_say_where():
    source = """
extern "C" __global__ void k(int* y, int n) {
  assert(threadIdx.x < n);
  y[threadIdx.x] = 1;
}
"""
    assert launch(source, [zeros(32), i32(32)]).ok
    report = launch(source, [zeros(32), i32(31)])
    assert [f.kind for f in report.errors] == ["trap"]
    assert report.errors[0].line == 2 and report.errors[0].thread == (31, 0, 0)
    assert "threadIdx.x < n" in report.errors[0].message
    trap = launch('extern "C" __global__ void k(int n) { if (n) __trap(); }', [i32(1)])
    assert [f.kind for f in trap.errors] == ["trap"] and "__trap()" in trap.errors[0].message
