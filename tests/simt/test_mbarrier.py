"""mbarriers: who waits for what, in which order that puts memory, and what is said where a ring is broken. Their values: families/mbarrier.py."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lanewise import simt

f32, i32 = np.float32, np.int32
HEAD = """#include <ptx_hopper.cuh>
#define WAIT(bar, parity) ptx::mbarrier_wait_parity(ptx::shared_address(&bar), parity)
#define ARRIVE(bar) ptx::mbarrier_arrive(ptx::shared_address(&bar))
#define INIT(bar, n) ptx::mbarrier_init(ptx::shared_address(&bar), n)
"""
RING = (
    HEAD
    + """
extern "C" __global__ void k(const int* x, int* y, int n) {
  __shared__ int s[2][64];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x, sum = 0;
  if (t == 0) for (int i = 0; i < 2; ++i) { INIT(full[i], 64); INIT(empty[i], 64); }
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    int st = i & 1, round = i / 2 & 1;
    if (t < 64) {
      WAIT(empty[st], round ^ 1);
      s[st][t] = x[(blockIdx.x * n + i) * 64 + t];
      ARRIVE(full[st]);
    } else {
      WAIT(full[st], round);
      sum += s[st][127 - t];
      ARRIVE(empty[st]);
    }
  }
  if (t >= 64) y[blockIdx.x * 64 + t - 64] = sum;
}"""
)


def line_of(source, text):
    return 1 + next(number for number, line in enumerate(source.splitlines()) if text in line)


def changed(find, replace, source=RING):
    assert source.count(find) == 1, find
    return source.replace(find, replace)


def ring(source=RING, grid=3, n=7, **options):
    x, y = np.random.default_rng(0).integers(0, 99, (grid, n, 64)).astype(i32), np.zeros((grid, 64), i32)
    report = simt.compile(source).kernel("k").launch(grid, 128, [x, y, i32(n)], **options)
    return report, np.array_equal(y, x.sum(axis=1)[:, ::-1])


def only(report, kind):
    assert [f.kind for f in report.errors] == [kind], str(report)
    return report.errors[0]


@pytest.mark.parametrize("schedule", range(4))
def test_a_ring_is_quiet_in_every_schedule(schedule):
    report, right = ring(schedule=schedule)
    assert report.ok and right, str(report)
    assert report.steps < 100  # who waits is parked: no step is spent on it


def test_without_diagnostics_the_values_are_the_same():
    report, right = ring(check=False)
    assert report.ok and right


def test_a_reader_that_does_not_wait_races():
    report, _ = ring(changed("      WAIT(full[st], round);\n", ""))
    found = report.errors[0]
    assert (found.kind, found.array, found.line) == ("race", "s", line_of(changed("      WAIT(full[st], round);\n", ""), "sum += s"))
    assert found.other.line == line_of(RING, "s[st][t] =")


def test_only_who_waits_knows():
    """One thread of each warp waits, the others don't meet it."""
    report, _ = ring(changed("      WAIT(full[st], round);\n", "      if (t % 32 == 0) WAIT(full[st], round);\n"))
    assert report.errors[0].kind == "race" and report.errors[0].array == "s"
    report, right = ring(changed("      WAIT(full[st], round);\n", "      if (t % 32 == 0) WAIT(full[st], round);\n      __syncwarp();\n"))
    assert report.ok and right, str(report)


def test_an_arrival_publishes_what_its_thread_knows_alone():
    """One lane arrives for its warp: the others must have met it before."""
    one = changed("      ARRIVE(full[st]);\n", "      MEET\n      if (t % 32 == 0) ARRIVE(full[st]);\n").replace("INIT(full[i], 64)", "INIT(full[i], 2)")
    report, right = ring(one.replace("MEET", "__syncwarp();"))
    assert report.ok and right, str(report)
    report, _ = ring(one.replace("MEET", ""))
    assert report.errors[0].kind == "race" and report.errors[0].array == "s"


def test_an_arrival_before_the_last_read_races_with_the_next_write():
    early = changed("      sum += s[st][127 - t];\n      ARRIVE(empty[st]);\n", "      ARRIVE(empty[st]);\n      sum += s[st][127 - t];\n")
    report, _ = ring(early)
    found = report.errors[0]
    assert found.kind == "race" and {found.line, found.other.line} == {line_of(early, "s[st][t] ="), line_of(early, "sum += s")}


@pytest.mark.parametrize(
    "find, replace, says",
    [
        ("      ARRIVE(empty[st]);\n", "", r"for phase 0 of the mbarrier empty\[0\], .*No arrival of 64 has come in this phase"),
        ("ARRIVE(empty[st]);\n", "if (t < 96) ARRIVE(empty[st]);\n", r"empty\[0\], .*32 arrivals of 64 have come. Make the count of mbarrier.init equal"),
        ("WAIT(full[st], round);", "WAIT(full[st], round ^ 1);", r"for phase 1 of the mbarrier full\[0\], .*Phase 0 is complete, .*the parity is wrong"),
        ("WAIT(empty[st], round ^ 1);", "WAIT(empty[st], round);", r"threads 0\.\.63 wait on line \d+ for phase 0 of the mbarrier empty\[0\]"),
    ],
)  # fmt: skip
def test_a_ring_that_stands_still_names_its_barrier(find, replace, says):
    source = changed(find, replace)
    report, _ = ring(source, grid=1)
    found = next(f for f in report.errors if f.kind == "deadlock")
    assert re.search(says, found.message), found.message
    assert found.line in (line_of(source, "WAIT(empty[st]"), line_of(source, "WAIT(full[st]")) and found.array in ("full", "empty")


ONE = (
    HEAD
    + """
extern "C" __global__ void k(int* y) {
  __shared__ unsigned long long bars[4];
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t;
  BEGIN
  y[t] = s[31 - t];
}"""
)


def one(begin, block=32, **options):
    source = ONE.replace("BEGIN", begin)
    return simt.compile(source).kernel("k").launch(1, block, [np.zeros(32, i32)], **options)


START = "if (t == 0) INIT(bars[1], 32); __syncthreads();"


@pytest.mark.parametrize(
    "begin, says",
    [
        ("if (t == 0) INIT(bars[1], 32); ARRIVE(bars[1]); WAIT(bars[1], 0);", "bars[1] on line 11, but nothing orders that after thread (0,0,0) init"),
        ("ARRIVE(bars[1]);", "arrives at bars[1] on line 11, but nobody has initialised it. Call mbarrier.init first"),
        (START + " ARRIVE(bars[2]); ", "arrives at bars[2] on line 11, but nobody has initialised it. The nearest barrier lies 8 bytes before it."),
        ("INIT(bars[1], 32); __syncthreads(); ARRIVE(bars[1]); WAIT(bars[1], 0);", "threads 0..31 all initialise bars[1] on line 11"),
        ("if (t == 0) INIT(bars[1], 0); __syncthreads();", "bars[1] is initialised with a count of 0 on line 11: a phase needs at least 1 arrival"),
        (START + "ARRIVE(bars[1]); WAIT(bars[1], 0); __syncthreads(); if (t == 0) INIT(bars[1], 9);", "bars[1] is initialised again on line 11"),
        (START + "ARRIVE(bars[1]); WAIT(bars[1], t == 3 ? 2 : 0);", "thread (3,0,0) of block (0,0,0) waits for bars[1] on line 11 with parity 2, but a parity"),
        (START + "ARRIVE(bars[1]); WAIT(bars[1], 4294967294);", "waits for bars[1] on line 11 with parity 4294967294, but a parity is 0 or 1. Pass"),
        (START + "if (t < 9) bars[1] = 3; WAIT(bars[1], 1);", "the memory of bars[1] on line 11, which is an mbarrier in use since its init"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_barrier(begin, says):
    report = one(begin)
    found = report.errors[0]
    assert found.kind == "mbarrier" and says in found.message, str(report)
    assert (found.array, found.line) == ("bars", 11)


def test_more_arrivals_than_a_phase_waits_for():
    """An arrival while bytes are missing: the count is zero, the phase isn't over."""
    twice = "if (t == 0) { ptx::mbarrier_arrive_expect_tx(ptx::shared_address(bars), 64); ARRIVE(bars[0]); }"
    report = one("if (t == 0) INIT(bars[0], 1); __syncthreads();" + twice)
    found = only(report, "mbarrier")
    assert "its phase waits for 0 more arrivals (only 64 bytes are missing)" in found.message and "for 1 arrival a phase" in found.message


def test_many_threads_pass_several_phases_at_once():
    """32 arrivals at a barrier that counts 8: four phases; who waits for one of them goes on."""
    report = one("if (t == 0) INIT(bars[3], 8); __syncthreads(); ARRIVE(bars[3]); WAIT(bars[3], 1);")
    assert report.ok, str(report)


@pytest.mark.parametrize("schedule", range(4))
@pytest.mark.parametrize("bar, count", [("empty", 63), ("full", 48)])
def test_a_count_too_small_orders_only_who_came_first(bar, count, schedule):
    """The others arrive in the next phase: nothing tells of what they did."""
    report, _ = ring(changed(f"INIT({bar}[i], 64)", f"INIT({bar}[i], {count})"), n=3, schedule=schedule)
    assert ("race", "s") in [(f.kind, f.array) for f in report.errors], str(report)


def test_a_count_of_tries_is_a_deadlock_too():
    report = one(START + "int i = 0; while (!ptx::mbarrier_try_wait_parity(ptx::shared_address(&bars[1]), 0)) if (++i == 100000) return;")
    assert "No arrival of 32 has come" in only(report, "deadlock").message


def test_who_has_something_else_to_do_goes_on():
    """A wait that isn't over is answered "not yet" when nobody else can go on."""
    poll = START + "bool early = ptx::mbarrier_try_wait_parity(ptx::shared_address(&bars[1]), 0); ARRIVE(bars[1]); WAIT(bars[1], 0);"
    poll += "s[t] = early; __syncthreads();"
    y = np.full(32, 7, i32)
    report = simt.compile(ONE.replace("BEGIN", poll)).kernel("k").launch(1, 32, [y])
    assert report.ok and not y.any(), str(report)


def test_blocks_whose_barriers_part():
    """Blocks with different numbers of rounds, and one that stands still: the others end."""
    source = changed("int* y, int n) {", "int* y, int n0) {\n  int n = blockIdx.x % 3 + 2;")
    source = changed("x[(blockIdx.x * n + i) * 64 + t]", "x[(blockIdx.x * n0 + i) * 64 + t]", source)
    x, y = np.random.default_rng(0).integers(0, 99, (5, 7, 64)).astype(i32), np.zeros((5, 64), i32)
    report = simt.compile(source).kernel("k").launch(5, 128, [x, y, i32(7)])
    assert report.ok, str(report)
    assert all(np.array_equal(y[b], x[b, : b % 3 + 2].sum(axis=0)[::-1]) for b in range(5))
    source = changed("      ARRIVE(empty[st]);\n", "      if (blockIdx.x != 2) ARRIVE(empty[st]);\n", source)
    report = simt.compile(source).kernel("k").launch(5, 128, [x, y, i32(7)])
    assert [(f.kind, f.block) for f in report.errors] == [("deadlock", (2, 0, 0))], str(report)


COPY = """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[32];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  if (t == 0) INIT(bar, 32);
  __syncthreads();
  if (t < 32) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(ptx::shared_address(s + t)), "l"(x + t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(ptx::shared_address(&bar)) : "memory");
  } else {
    WAIT(bar, 0);
    y[t - 32] = s[63 - t];
  }
}"""


def test_cp_async_that_a_barrier_tells_the_end_of():
    """Who waits for the barrier may read; who doesn't may not, the copying thread itself included."""
    x, y = np.arange(32, dtype=i32), np.zeros(32, i32)
    report = simt.compile(HEAD + COPY).kernel("k").launch(1, 64, [x, y])
    assert report.ok and np.array_equal(y, x[::-1]), str(report)
    for source in (COPY.replace("    WAIT(bar, 0);\n", ""), COPY.replace("  } else {", "    y[t] = s[t];\n  } else {")):
        report = simt.compile(HEAD + source).kernel("k").launch(1, 64, [x, y])
        assert ("async-copy", "s") in [(f.kind, f.array) for f in report.errors], str(report)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (
            '"r"((unsigned)(unsigned long long)bar)',
            "That is the lower half of a generic pointer. Take the shared address: (unsigned)__cvta_generic_to_shared(pointer).",
        ),
        ('"l"((unsigned long long)bar)', "That is a generic pointer. Take the shared address"),
        ('"l"((unsigned long long)y)', "That is no address of shared memory. Declare what lies there __shared__."),
    ],
    ids=["half a pointer", "a generic pointer", "a pointer to global memory"],
)
def test_a_pointer_is_no_shared_address(address, says):
    """On a GPU the window of shared memory doesn't begin at a multiple of 2^32: what is cut off is missed."""
    source = f"""
extern "C" __global__ void k(int* y) {{
  __shared__ unsigned long long bar[2];
  bar[0] = 0;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::{address} : "memory");
  y[0] = (int)bar[0];
}}"""
    report = simt.compile(source).kernel("k").launch(1, 1, [np.zeros(4, np.int32)])
    found = next(f for f in report.errors if f.kind == "out-of-bounds")
    assert found.line == 5 and says in found.message
