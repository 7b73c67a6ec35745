"""Random meetings of lanes and warps: right ones are quiet and have the right values, one wrong mask or one lane that stays away is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_meetings import Fault, Meetings, generate

from lanewise import simt
from lanewise.simt.report import Report

BLOCKS = 3


def run(made: Meetings, source: str, seed: int, schedule: int) -> tuple[Report, np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).integers(0, 2**32, BLOCKS * made.threads, dtype=np.uint32)
    y = np.zeros_like(x)
    return simt.compile(source).kernel("k").launch(BLOCKS, made.threads, [x, y], schedule=schedule), y, made.expected(x)


def quiet(seed: int, schedules: range = range(3)) -> None:
    made = generate(seed)
    for schedule in schedules:
        report, y, expected = run(made, made.source(), seed, schedule)
        assert report.ok, f"{report}\n{made.source()}"
        np.testing.assert_array_equal(y, expected, err_msg=f"seed {seed}, schedule {schedule}\n{made.source()}")


def found(made: Meetings, fault: Fault, seed: int, schedule: int) -> None:
    assert made.source().count(fault.find) == 1
    report, _, _ = run(made, made.source().replace(fault.find, fault.replace), seed, schedule)
    assert fault.kind in {f.kind for f in report.errors}, f"seed {seed}, schedule {schedule}: {fault.replace}\n{report}"


def seeds(number: int) -> list:
    """So many, of which `make fast` takes the first four."""
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 4 else []) for seed in range(number)]


@pytest.mark.parametrize("seed", seeds(24))
def test_right_meetings_are_quiet(seed):
    quiet(seed)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(1000, 1_000_000))
def test_many_right_meetings_are_quiet(seed):
    quiet(seed, range(2))


@pytest.mark.parametrize("seed", seeds(16))
def test_a_wrong_meeting_is_found(seed):
    made = generate(seed)
    assert made.faults
    for fault in made.faults:
        found(made, fault, seed, seed % 4)
