"""The bench of chapters 6 and 8 with little work: every launch is right, and a wrong one is refused. Its clock is another matter."""

import numpy as np
import pytest

from lanewise import cp
from lanewise.bench import waiting as bench


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(bench, "WARM", 0)
    monkeypatch.setattr(bench, "TIMES", 1)
    monkeypatch.setattr(bench, "sms", lambda cp: 2)


def test_benchmarks_name_six_ways_to_time_one_kernel():
    rows = bench.benchmarks(cp, n=1024, steps=60)
    assert [row["benchmark"] for row in rows][:2] == ["first launch, waited for", "stopwatch without a wait"]
    assert len(rows) == 6 and all(row["ms"] >= 0 for row in rows)


def test_reads_of_an_array_add_it_up_each_round():
    assert [row["MiB"] for row in bench.cached_reads(cp, sizes=(1 << 10, 1 << 11), rounds=3)] == [0, 0]


def test_products_are_right_and_name_their_warps():
    rows = bench.matmul_ladder(cp, n=128)
    assert [(row["product"], row["warps an SM"]) for row in rows] == [("naive", 64), ("tiles of 32", 64), ("8 x 8 a thread", 16), ("cuBLAS", "-")]


def test_chains_and_loads_go_by_what_is_in_flight():
    in_flight = [row["in flight"] for row in bench.chains(cp, steps=60)]
    assert len(in_flight) == 16 and in_flight == sorted(in_flight) and in_flight[0] == 4 and in_flight[-1] == 256
    kib = [row["KiB in flight"] for row in bench.loads(cp, mib=1)]
    assert len(kib) == 16 and kib == sorted(kib) and kib[0] == 4 and kib[-1] == 256


@pytest.mark.parametrize("got", [[1.0, 2.0], [1.0, np.nan]])
def test_a_wrong_result_has_no_time(got):
    with pytest.raises(RuntimeError, match="busy gives wrong values: its time is worth nothing"):
        bench.believe(cp, "busy", cp.array(got), 1.0, 0.5)
