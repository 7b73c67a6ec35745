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
