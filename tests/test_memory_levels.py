"""The latency bench with few steps: every chase ends where its ring says, and a chase that doesn't is refused. Its clock is another matter."""

import pytest

from lanewise import cp
from lanewise.bench import memory_levels as bench

KIB = 1024


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(bench, "REPEATS", 1)


def test_a_ring_passes_every_place_once():
    following = bench.ring(64)
    seen = [bench.reached(following, steps) for steps in range(64)]
    assert sorted(seen) == list(range(64)) and bench.reached(following, 64) == 0
    assert bench.reached(following, 65, start=seen[-1]) == seen[0]


def test_every_level_is_chased(capsys):
    rows = bench.memory_levels(cp, far=256 * KIB, near=16 * KIB, steps=50)
    levels = [row["level"] for row in rows if row["level"] != "texture"]
    assert levels[:4] == ["registers", "shared memory", "L1 cache", "local memory"]
    assert levels[4:] == ["constant memory", "constant memory, 32 lanes, one place", "constant memory, 32 lanes, 32 places", "L2 cache", "global memory"]
    assert all(row["cycles"] > 0 and row["ns"] >= 0 for row in rows)
    assert capsys.readouterr().out.count(" cycles ") == len(rows)


def test_a_chase_that_ends_elsewhere_is_refused():
    following = bench.ring(1024)
    with pytest.raises(RuntimeError, match=r"The chase through shared memory ended at \d+ instead of -1: its reading is worth nothing"):
        bench.Chases(cp, 50).add("shared memory", "", "shared", cp.asarray(following), -1, 10)


def test_strides_count_their_sectors():
    rows = bench.bandwidth_by_stride(cp, n=1024, strides=(1, 2, 3, 8, 32), times=1)
    assert [row["sectors_a_request"] for row in rows] == [4, 8, 12, 32, 32]
