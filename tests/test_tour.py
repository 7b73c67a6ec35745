"""The tour: its arithmetic is right, its counts equal the formulas, its text fits a terminal."""

import re

import numpy as np
import pytest

from lanewise import tour
from lanewise.names import find_course


def step(name, asked, conflicts=0):
    return tour.Step(name, global_bytes=asked, dram_bytes=asked // 2, global_requests=10, global_sectors=45, conflicts=conflicts, flops=1000, faults=0)


def way(title, *amounts):
    return tour.Way(title, tuple(step(f"kernel{i}", amount) for i, amount in enumerate(amounts)), 2.5e-7)


@pytest.fixture(scope="module")
def small():
    """Both ways on one head of 96 keys: three tiles."""
    told = []
    return tour.measure(find_course(), heads=1, n=96, say=told.append), told


def test_attention_in_numpy_is_a_weighted_mean():
    Q, K = np.zeros((1, 2, 4), np.float32), np.ones((1, 3, 4), np.float32)
    V = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    assert np.allclose(tour.attention(Q, K, V), [[[4, 5, 6, 7], [4, 5, 6, 7]]])


def test_both_ways_are_right_and_faultless(small):
    (naive, flash), told = small
    assert told == [*tour.NAIVE, tour.FLASH]
    assert naive.error < 2e-6 and flash.error < 2e-6
    assert naive.total("faults") == flash.total("faults") == 0


def test_flash_asks_for_the_bytes_of_the_formula(small):
    (_, flash), _ = small
    n, d, Br = 96, 64, 32
    assert flash.total("global_bytes") == 4 * (2 * n * d + 2 * (n // Br) * n * d + n)
    assert flash.total("dram_bytes") == 4 * (4 * n * d + n)


def test_naive_moves_the_matrix_four_times(small):
    (naive, _), _ = small
    n, d = 96, 64
    assert naive.total("dram_bytes") == 4 * (4 * n * n + 4 * n * d)


def test_flash_has_no_bank_conflicts(small):
    (_, flash), _ = small
    assert flash.total("conflicts") == 0


def test_text_fits_80_columns_and_plain_ascii():
    whole = tour.text(way("naive, 3 kernels", 268_000_000, 12_000_000, 90_000_000), way("flash, 1 kernel", 4_460_000), "#")
    assert whole.isascii()
    assert max(map(len, whole.splitlines())) <= 80
    assert "Flash asks for 83 times fewer bytes" in whole
    assert re.search(r"^bytes asked of global memory +370 MB +4\.46 MB$", whole, re.MULTILINE)
    assert re.search(r"^32-byte sectors in a request of a warp +4\.5 +4\.5$", whole, re.MULTILINE)


def test_chart_is_to_scale_and_shows_the_small():
    lines = tour.chart([("a", 1000), ("bb", 500), ("c", 1), ("d", 0)], "#")
    counts = [line.count("#") for line in lines]
    assert counts == [64, 32, 1, 0]
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].endswith("# 1 kB") and lines[3] == "  d   0 B"


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "█"), ("ascii", "#"), ("latin-1", "#"), (None, "#"), ("no-such-code", "#"), ("cp437", "█")])
def test_bar_is_what_the_terminal_can_print(encoding, bar):
    assert tour.bar_for(encoding) == bar


@pytest.mark.parametrize(("value", "words"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (4_460_000, "4.46 MB"), (2e9, "2 GB")])
def test_amounts_have_a_prefix(value, words):
    assert tour._amount(value, "B") == words


def test_next_steps_name_things_that_exist():
    course = find_course()
    assert str(course.exercise("ch01a")) == "ch01a_grid_stride"
    assert f"lanewise show {tour.FLASH}" in tour.NEXT and str(course.any_kernel(tour.FLASH)) == tour.FLASH
    assert max(map(len, tour.NEXT.splitlines())) <= 80


def test_the_whole_tour_fits_80_columns(monkeypatch, capsys):
    monkeypatch.setattr(tour, "N", 64)
    assert tour.main([]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert told.index("running ch09_scores") < told.index("running ch12_flash_forward") < told.index("faults found") < told.index("Where to go next")
