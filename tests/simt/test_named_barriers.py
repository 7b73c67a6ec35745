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


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_arrivals_complete_a_barrier_by_themselves(schedule):
    """Who arrives twice completes it while nobody waits: the others then wait in vain, whatever the order."""
    again = HAND_OVER.replace("LATE", 'asm volatile("bar.arrive 1, 64; bar.arrive 2, 64;" ::: "memory");')
    late = again.replace("bar.sync 1, 64;", "bar.sync 2, 64; bar.sync 1, 64;")
    report, _ = run(late, schedule=schedule)
    found = report.errors[0]
    assert found.kind == "deadlock" and "The arrivals on line 7 completed it before anybody waited there" in found.message, str(report)
