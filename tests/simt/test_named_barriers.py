"""bar.arrive and bar.sync: who arrives without waiting hands over what it did before (PTX ISA 9.7.13.1)."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

HAND_OVER = """
extern "C" __global__ void hand_over(const int* x, int* y) {
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = x[threadIdx.x];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        LATE
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[threadIdx.x - 32] = s[63 - threadIdx.x];
    }
}
"""


def run(text: str, blocks: int = 1, schedule: int = 0) -> tuple[simt.Report, np.ndarray]:
    y = np.zeros(32, np.int32)
    report = simt.compile(text).kernel("hand_over").launch(blocks, 64, [np.arange(32, dtype=np.int32), y], schedule=schedule)
    return report, y


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_what_was_written_before_an_arrival_is_there_behind_the_wait(schedule):
    report, y = run(HAND_OVER.replace("LATE", ""), schedule=schedule)
    assert report.ok, str(report)
    assert (y == np.arange(32)[::-1]).all()


def test_what_is_written_behind_it_is_not():
    report, _ = run(HAND_OVER.replace("LATE", "s[threadIdx.x] = 5;"))
    assert report.findings[0].kind == "race"


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_who_has_arrived_and_left_is_not_missed(schedule):
    """Both sides run the same code behind the barrier, and the arriving side may end before the other comes."""
    text = """
extern "C" __global__ void hand_over(const int* x, int* y) {
    __shared__ int s[32];
    int v = -1, first = blockIdx.x % 2 * 32, t = threadIdx.x % 32;
    if (threadIdx.x - t == first) {
        s[t] = x[t];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        v = s[31 - t];
    }
    if (v >= 0) atomicAdd(y + t, v);
}
"""
    report, y = run(text, 4, schedule)
    assert report.ok, str(report)
    assert (y == 4 * np.arange(32)[::-1]).all()


def test_without_the_arrival_nobody_goes_on():
    report, _ = run(HAND_OVER.replace("LATE", "").replace("bar.arrive 1, 64;", ""))
    assert report.findings[0].kind == "deadlock" and "64 threads at barrier 1" in report.findings[0].message


def meeting(barrier: str, other: str = "", schedule: int = 0) -> list[simt.Finding]:
    """What is said of 64 threads that meet at a barrier (the second warp at another, if one is given) on line 5."""
    text = f"""
extern "C" __global__ void hand_over(const int* x, int* y) {{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x % 32];
    if (threadIdx.x < 32 || {int(not other)}) asm volatile("{barrier};" ::"r"(-1) : "memory"); else asm volatile("{other or "bar.sync 0"};" ::: "memory");
    if (threadIdx.x < 32) y[threadIdx.x] = s[63 - threadIdx.x];
}}
"""
    return run(text, schedule=schedule)[0].errors


@pytest.mark.parametrize("barrier", ["bar.sync 15", "barrier.sync 15, 64", "barrier.sync 3, 0", "bar.sync 0, 64"])
def test_barriers_that_exist(barrier):
    assert meeting(barrier) == []


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "barrier, says",
    [
        ("barrier.sync 16", "names barrier 16 on line 5, and a block has barriers 0 to 15"),
        ("barrier.sync %0", "names barrier -1 on line 5"),
        ("barrier.sync 3, 48", "waits at barrier 3 for 48 threads on line 5, but warps come as a whole: the count is a multiple of 32"),
        ("barrier.sync 3, %0", "waits at barrier 3 for -1 threads"),
        ("barrier.arrive 3, 0", "arrives at barrier 3 for 0 threads on line 5"),
    ],
)
def test_barriers_that_do_not_exist(barrier, says, schedule):
    found = meeting(barrier, schedule=schedule)[0]
    assert (found.kind, found.line) == ("barrier-divergence", 5) and says in found.message, found.message


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_two_counts_at_one_barrier(schedule):
    for other in ("barrier.sync 3, 96", "barrier.arrive 3, 96"):
        found = meeting("barrier.sync 3, 64", other, schedule)[0]
        assert found.kind == "barrier-divergence" and "All who meet at a barrier give the same count" in found.message, found.message
    assert meeting("barrier.sync 3, 64", "barrier.sync 3", schedule) == []


APART = """
extern "C" __global__ void hand_over(const int* x, int* y) {
    __shared__ int s[64];
    int n = 0, t = threadIdx.x;
    s[t] = x[t % 32];
    if (t CHOICE) {
        ONE
        n += s[t ^ 32];
    } else {
        OTHER
        n += 100 + s[t ^ 32];
    }
    if (t >= 32) y[t - 32] = n;
}
"""
SYNC = 'asm volatile("bar.sync 1, 64;" ::: "memory");'
COUNT = 'asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; barrier.red.popc.u32 %0, 1, 64, p;}" : "=r"(n) : "r"(t & 1) : "memory");'


def apart(choice: str, one: str, other: str, blocks: int = 1, schedule: int = 0):
    return run(APART.replace("CHOICE", choice).replace("ONE", one).replace("OTHER", other), blocks, schedule)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_number_names_the_barrier_not_the_line(blocks, schedule):
    report, y = apart("< 32", SYNC, SYNC, blocks, schedule)
    assert report.ok, str(report)
    assert (y == 100 + np.arange(32)).all()


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_in_turns_with_two_numbers(schedule):
    """Each side's loop has its own lines: full, empty, full, empty."""
    text = """
extern "C" __global__ void hand_over(const int* x, int* y) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32) for (int i = 0; i < 3; ++i) {
        s[t] = x[t] + i;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else for (int i = 0; i < 3; ++i) {
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        y[t - 32] += s[63 - t];
        asm volatile("barrier.sync 2, 64;" ::: "memory");
    }
}
"""
    report, y = run(text, schedule=schedule)
    assert report.ok and (y == 3 * np.arange(32)[::-1] + 3).all(), str(report)
    early = "".join(line for line in text.splitlines(keepends=True) if "sync 2" not in line)
    assert run(early, schedule=schedule)[0].errors[0].kind == "race"


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_the_number_0_is_for_one_line(schedule):
    for one in ("__syncthreads();", 'asm volatile("bar.sync 0, 64;" ::: "memory");'):
        found = apart("< 32", one, "__syncthreads();", schedule=schedule)[0].errors[0]
        assert found.kind == "barrier-divergence" and "put one behind the if, not inside it." in found.message
        for waiters in ("threads 0..31 wait at the barrier on line 7", "threads 32..63 wait at the barrier on line 10"):
            assert waiters in found.message


def test_bar_sync_is_for_whole_warps_barrier_sync_for_lanes():
    found = apart("% 2", SYNC, SYNC)[0].errors[0]
    assert found.kind == "barrier-divergence" and "All lanes of a warp come to the same bar.sync" in found.message
    loose = SYNC.replace("bar.", "barrier.")
    report, y = apart("% 2", loose, loose)
    assert report.ok and (y == np.arange(32) + np.where(np.arange(32) % 2, 0, 100)).all(), str(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_reductions_meet_reductions(schedule):
    report, y = apart("< 32", COUNT, COUNT, schedule=schedule)
    assert report.ok and (y == 132 + np.arange(32)).all(), str(report)
    found = apart("< 32", SYNC, COUNT, schedule=schedule)[0].errors[0]
    assert found.kind == "barrier-divergence" and "give bar.red a number of its own" in found.message


@pytest.mark.parametrize("other", ["__syncthreads();", "n = __syncthreads_or(t & 1);"])
def test_reductions_that_meet_others_at_barrier_0(other):
    """A finding, and each reduction is that of the threads that came for it."""
    report, y = apart("< 32", other, "n = __syncthreads_count(t & 1);")
    assert report.errors[0].kind == "barrier-divergence" and (y == 116 + np.arange(32)).all()
