"""The bench of products beside other instructions: every kernel counts what it should, a wrong one is refused, and clocks are those of one step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from lanewise import cp
from lanewise.bench import mma_beside as bench
from lanewise.bench.mma_beside import Step


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(bench, "STEPS", 2)
    monkeypatch.setattr(bench, "REPEATS", 1)


def test_each_step_is_measured_once_and_what_is_alone_comes_first():
    steps = bench.every()
    assert len(set(steps)) == len(steps) and {step.kind for step in steps} == set(bench.KINDS)
    assert Counter(step.how for step in steps) == {"alone": 27, "same warp": 84, "other warps": 48, "chain": 7}
    assert [step.how for step in steps[:27]] == ["alone"] * 27


@pytest.mark.slow
@pytest.mark.parametrize("kind", bench.KINDS[1:])
@pytest.mark.parametrize("how", ["alone", "same warp", "other warps", "chain"])
def test_every_kind_gives_right_values(how, kind):
    found = [step for step in bench.every() if (step.how, step.kind) == (how, kind) and step.warps <= 2][-1:]
    rows = bench.measure(cp, found, 1)
    assert [(row["kind"], row["others"]) for row in rows] == [(step.kind, step.others) for step in found]
    assert all(row["clocks"] > 0 for row in rows)


def test_products_alone_and_in_a_chain():
    rows = bench.measure(cp, [Step("alone", "none", 2, 8, 0), Step("chain", "none", 1, 8, 0)], 2)
    assert [(row["how"], row["products"]) for row in rows] == [("alone", 8), ("chain", 8)]


@pytest.mark.parametrize("step", [Step("same warp", "add", 1, 8, 8), Step("alone", "ldmatrix", 1, 0, 2), Step("other warps", "max", 2, 8, 16)])
def test_wrong_values_are_refused(step, monkeypatch):
    kept = []
    monkeypatch.setattr(bench, "check", lambda step, ends, steps: kept.append((ends, steps)))
    bench.measure(cp, [step], 1)
    ((ends, steps),) = kept
    monkeypatch.undo()
    bench.check(step, ends, steps)
    for wrong in (np.where(np.arange(2) == 1, ends, ends - 1), np.where(np.arange(2) == 0, ends, ends + 1), np.full_like(ends, np.nan)):
        with pytest.raises(RuntimeError, match="gives wrong values: its clocks are worth nothing"):
            bench.check(step, wrong, steps)


def test_clocks_are_of_one_step_of_a_scheduler():
    assert [replace(Step("same warp", "fma", 4, 8, 16), how=how).done for how in ("alone", "same warp", "other warps")] == [4, 4, 2]
    assert Step("chain", "fma", 1, 0, 32).done == 32 and Step("chain", "none", 1, 8, 0).done == 8


def test_bounds_come_from_what_is_alone():
    rows = [
        {"how": "alone", "kind": "none", "warps": 1, "products": 8, "others": 0, "clocks": 80.0},
        {"how": "alone", "kind": "none", "warps": 2, "products": 8, "others": 0, "clocks": 64.0},
        {"how": "alone", "kind": "fma", "warps": 2, "products": 0, "others": 32, "clocks": 32.0},
    ]
    beside = {"how": "same warp", "kind": "fma", "warps": 2, "products": 8, "others": 16, "clocks": 70.0}
    assert bench.bounds([*rows, beside], beside) == (64.0, 80.0)
