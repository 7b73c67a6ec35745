"""Every instruction family: the kernels of families/ give on the simulator what NumPy and Python say they must."""

from __future__ import annotations

import numpy as np
import pytest
from families.case import Case, Tolerance, canonical, difference, digest, equal
from families.everything import CASES
from families.launch import launch

# Left out of `make fast`: hundreds of cases, for which tests of their own stand there.
LEFT_OUT = ("tma", "bulk", "wgmma", "clusters", "mbarrier", "narrow", "half", "bfloat16", "convert")
MARKED = [pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.slow or case.name.split(".")[0] in LEFT_OUT else []) for case in CASES]
RIGHT = [param for param in MARKED if not param.values[0].faulty]
FAULTY = [param for param in MARKED if param.values[0].faulty]


@pytest.mark.parametrize("case", RIGHT)
def test_values(case: Case) -> None:
    run = launch(case)
    assert run.report.ok, str(run.report)
    wrong = [difference(case, k, got, want) for k, got, want in zip(case.outputs, run.outputs, case.expect(*run.arguments), strict=True)]
    if case.rows:  # name every wrong row, not the first alone
        table = case.expect(*run.arguments)[0]
        wrong = [f"{label}: {describe(case, row, run.outputs[0], table)}" for row, label in enumerate(case.rows) if describe(case, row, run.outputs[0], table)]
    assert not [line for line in wrong if line], "\n".join(line for line in wrong if line)
    if case.prints is not None:
        assert "".join(run.report.printed) == case.prints


def describe(case: Case, row: int, got: np.ndarray, want: np.ndarray) -> str:
    """Empty where the row is right, else the first wrong element with its operands' position."""
    bad = np.flatnonzero(~equal(got[row], want[row], case.tolerance(row)))
    return f"{len(bad)} of {got.shape[1]} wrong, at {bad[0]} {got[row][bad[0]]!r} instead of {want[row][bad[0]]!r}" if len(bad) else ""


@pytest.mark.parametrize("case", FAULTY)
def test_a_kernel_that_stops_a_gpu_is_reported(case: Case) -> None:
    report = launch(case).report
    assert not report.ok
    assert any(word in report.findings[0].message for word in ("assert", "trap", "illegal instruction")), report.findings[0].message


@pytest.mark.parametrize("name", ["barriers.tree_sum", "atomics.add_int", "control.while_divergent", "warp.scan", "memory.shared_static_dynamic"])
def test_another_schedule_and_no_diagnostics_change_no_value(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    expected = case.expect(*case.args())
    for options in ({"check": False}, {"schedule": 3}, {"schedule": 11, "check": False}):
        run = launch(case, **options)
        assert [difference(case, k, got, want) for k, got, want in zip(case.outputs, run.outputs, expected, strict=True)] == [None] * len(expected)


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_the_comparison_sees_what_it_must() -> None:
    one = np.array([1.0, -0.0, np.nan, np.inf], np.float32)
    odd_nan = one.copy()
    odd_nan.view(np.uint32)[2] |= 5
    assert equal(odd_nan, one).all() and digest(odd_nan) == digest(one)
    assert not equal(-one, one)[1] and not equal(-one, one)[3]
    near = Tolerance(ulp=1)
    assert equal(np.nextafter(one, np.float32(2)), one, near)[0] and not equal(one + np.float32(3e-7), one, near)[0]
    assert not equal(np.array([np.nan], np.float32), one[:1], near)[0] and not equal(one[3:], one[:1], Tolerance(relative=9))[0]
    assert canonical(np.array([3], np.int32)).dtype == np.int32
