"""Random kernels against an interpreter of one thread at a time: values, findings and counters, whatever the schedule and the batches are."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_kernels import COUNTERS, OUT, SIZE, RandomKernel, generate

from lanewise import simt
from lanewise.simt import machine

DTYPES = {"O": np.uint32, "B": np.uint8, "H": np.uint16, "C": np.uint32}
SHAPES = [(1, 32), (3, 64), (5, 33), ((7, 1), (4, 4, 2)), ((2, 1, 2), 96), ((3, 3), 5), (2, (5, 7, 3)), (1, 1), ((2, 3), 40)]
# (lanes of a batch, schedule, check): small batches part and meet in other ways than large ones
WAYS = [(16384, 0, True), (64, 0, True), (16384, 1, True), (64, 2, True), (16384, 3, False), (128, 0, False)]


def run(kernel, grid, block, A: list[int], lanes: int, schedule: int, check: bool, monkeypatch):
    monkeypatch.setattr(machine, "LANES", lanes)
    threads = int(np.prod(grid) * np.prod(block))
    arrays = {name: np.zeros(threads * OUT if name != "C" else 3 * COUNTERS, dtype) for name, dtype in DTYPES.items()}
    report = kernel.launch(grid, block, [np.array(A, np.uint32), *arrays.values(), np.uint32(SIZE)], check=check, schedule=schedule)
    return report, arrays


def compare(made: RandomKernel, seed: int, grid, block, monkeypatch) -> None:
    rng = random.Random(seed)
    A = [rng.getrandbits(32) for _ in range(SIZE)]
    kernel = simt.compile(made.source).kernel("k")
    want = made.expected(int(np.prod(grid)), int(np.prod(block)), A)
    counters = None
    for lanes, schedule, check in WAYS:
        report, arrays = run(kernel, grid, block, A, lanes, schedule, check, monkeypatch)
        how = f"seed {seed}, grid {grid}, block {block}, batches of {lanes}, schedule {schedule}, check {check}\n{made.source}"
        assert [f.message for f in report.findings if f.severity == "error"] == [], how
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, np.array(want[name], array.dtype), err_msg=f"{name}: {how}")
        if counters is None:
            counters = report.counters.as_dict()
        assert report.counters.as_dict() == counters, how


@pytest.mark.parametrize("seed", range(24))
def test_random_kernel(seed, monkeypatch):
    grid, block = SHAPES[seed % len(SHAPES)]
    compare(generate(seed), seed, grid, block, monkeypatch)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(10_000, 1_000_000), shape=st.sampled_from(SHAPES))
def test_many_random_kernels(seed, shape, monkeypatch):
    compare(generate(seed), seed, *shape, monkeypatch)


def test_the_oracle_on_a_kernel_written_by_hand():
    """The interpreter itself: a barrier between writing and reading the neighbour's word, a vote, and a thread that returns early."""
    made = RandomKernel(
        source="",
        python="""
def thread(t, bid, T, A, s, hist, O, B, H, C):
  s[t] = A[t] * 2
  yield ('barrier', 0)
  O[t] = s[(t + 1) % T]
  O[t] += yield ('ballot', t % 2 == 1)
  if t == 3: return
  O[t] += (yield ('count', True)) * 100
""",
    )
    assert made.expected(1, 4, [1, 2, 3, 4])["O"][:4] == [4 + 10 + 300, 6 + 10 + 300, 8 + 10 + 300, 2 + 10]
