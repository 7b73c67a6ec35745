"""The bench of chapter 25's kernels, on few keys: every launch gives the right scores, and one that doesn't is refused."""

import pytest

from lanewise import cp
from lanewise.bench import tile_copies as bench


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(bench, "SETS", 1)
    monkeypatch.setattr(bench, "LAUNCHES", 1)
    monkeypatch.setattr(bench, "BLOCKS_AN_SM", (1, 2))


def test_every_kernel_is_timed(capsys):
    rows = bench.tile_copies(cp, n=1000, sms=2)
    assert [(row["kernel"], row["blocks"]) for row in rows] == [("query_copied", 16), ("query_tile", 16), ("query_ring", 2), ("query_ring", 4)]
    assert all(row["gb_s"] >= 0 for row in rows)
    assert capsys.readouterr().out.count(" GB/s") == 4


def test_wrong_scores_are_refused(monkeypatch):
    def half(cp, n, sms):
        for name, blocks, first, kernel in launches(cp, n, sms):
            yield name, max(1, blocks // 2), first, kernel

    launches = bench.launches
    monkeypatch.setattr(bench, "launches", half)
    with pytest.raises(RuntimeError, match="query_copied with 8 blocks gives wrong scores"):
        bench.tile_copies(cp, n=1000, sms=2)
