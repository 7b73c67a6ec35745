"""The cost model and the tuner: counts against hand arithmetic, ranks against known orders, a cache that remembers, errors in a sentence."""

from __future__ import annotations

import json

import pytest

from lanewise import cost_model, cp, tuning
from lanewise.cost_model import Tile
from lanewise.names import CourseError

pytestmark = pytest.mark.slow  # ptxas for some tiles of flash2

FEW = [Tile(64, 64, 32, 4), Tile(64, 64, 64, 4), Tile(64, 128, 32, 8)]


@pytest.fixture
def few(monkeypatch):
    """Three tiles instead of twelve."""
    monkeypatch.setattr(tuning, "candidates", lambda d, causal=False, gpu="H200": FEW)
    return FEW


def test_work_is_what_one_can_count_by_hand() -> None:
    for tile in (Tile(64, 64, 64, 4), Tile(64, 128, 64, 4), Tile(64, 128, 64, 8)):
        work = cost_model.work(tile)
        assert work.flops == 2 * 2 * tile.Br * tile.Bc * 64
        assert work.bytes == 2 * 2 * tile.Bc * 64
        # A warp reads its rows of Q, and all of K and V; then K and V arrive.
        assert work.wavefronts == (tile.Br + tile.warps * 2 * tile.Bc + 2 * tile.Bc) * 64 * 2 // 128
        assert work.powers == tile.Br * tile.Bc + 4 * tile.Br


def test_twice_the_keys_of_a_tile_is_twice_its_work() -> None:
    small, large = cost_model.work(Tile(64, 64, 32, 4)), cost_model.work(Tile(64, 64, 64, 4))
    assert large.flops == 2 * small.flops and large.bytes == 2 * small.bytes
    assert small.instructions < large.instructions < 2 * small.instructions  # some are once a tile


def test_an_estimate_is_bounded_by_its_units() -> None:
    one = cost_model.estimate(FEW[1])
    busiest = max(one.clocks.values())
    assert one.clocks[one.busiest] == busiest <= one.per_tile <= sum(one.clocks.values())
    assert one.chained == (one.per_tile > busiest)
    rounds = -(-64 * 16 // (132 * one.resident.blocks))
    assert one.launch == pytest.approx(rounds * one.resident.blocks * one.per_tile * 64)


def test_a_causal_launch_costs_about_half() -> None:
    whole, half = (cost_model.estimate(Tile(64, 64, 64, 4, causal), 4096, heads=64) for causal in (False, True))
    assert 0.45 < half.launch / whole.launch * whole.per_tile / half.per_tile < 0.6


def test_more_keys_than_queries() -> None:
    tile = Tile(64, 64, 64, 4, True)
    assert cost_model._visited(tile, 64, 64) == 1
    assert cost_model._visited(tile, 128, 128) == 3
    assert cost_model._visited(tile, 64, 256) == 4
    assert cost_model._visited(tile, 256, 64) == 1  # three blocks see no key


def test_ranks() -> None:
    assert cost_model.rank_correlation([1, 2, 3, 4], [10, 20, 30, 400]) == pytest.approx(1)
    assert cost_model.rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    assert cost_model.rank_correlation([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
    assert cost_model.rank_correlation([1, 1, 2], [1, 1, 2]) == pytest.approx(1)
    with pytest.raises(ValueError, match="same length, at least 2"):
        cost_model.rank_correlation([1], [1])
    with pytest.raises(ValueError, match="these have no order"):
        cost_model.rank_correlation([1, 1], [1, 2])


def test_candidates_fit_and_are_flash2s() -> None:
    tiles = cost_model.candidates(128)
    assert len(tiles) == 12 == len(set(tiles))
    assert all(tile.shared_bytes <= 227 * 1024 and tile.Br // tile.warps in (16, 32) for tile in tiles)
    assert max(tile.shared_bytes for tile in tiles) == 96 * 1024
    with pytest.raises(ValueError, match="8.0 or later, T4 has 7.5"):
        cost_model.candidates(128, gpu="T4")
    with pytest.raises(ValueError, match="64 or 128 columns, not 96"):
        cost_model.candidates(96)


def test_without_a_gpu_the_model_ranks(few, monkeypatch) -> None:
    monkeypatch.setattr(cp, "backend", "simulator", raising=False)
    choice = tuning.tune(64, 4096, 16)
    assert choice.ms is None and [each.launch for each in choice.order] == sorted(each.launch for each in choice.order)
    assert choice.tile == choice.order[0].tile in few
    assert "clocks by the cost model for H200, nothing was measured" in choice.why
    assert "registers a thread" in choice.why and "limited by" in choice.why and "Busiest by the model" in choice.why
    assert str(choice).startswith("d = 64, 4,096 queries, 4,096 keys, 16 heads: ")


def test_with_a_gpu_it_measures_once(few, monkeypatch, tmp_path) -> None:
    calls = []

    def measured(shape, tiles):
        calls.append(shape)
        return {str(tile): 1.0 + number for number, tile in enumerate(sorted(tiles, key=str))}

    monkeypatch.setattr(cp, "backend", "gpu", raising=False)
    monkeypatch.setattr(tuning, "_device", lambda: "NVIDIA H200")
    monkeypatch.setattr(tuning, "_measured", measured)
    cache = tmp_path / "deep" / "tiles.json"
    first = tuning.tune(64, 512, 32, causal=True, cache=cache)
    assert first.ms == (1.0, 2.0, 3.0) and str(first.tile) == sorted(map(str, few))[0]
    assert "1.000 ms measured on NVIDIA H200, 2.00 times faster than" in first.why
    assert tuning.tune(64, 512, 32, causal=True, cache=cache) == first and len(calls) == 1
    tuning.tune(64, 512, 32, cache=cache)  # another mask is another shape
    tuning.tune(64, 512, 32, causal=True, cache=cache, again=True)
    assert len(calls) == 3
    (entry, *_) = json.loads(cache.read_text(encoding="utf-8"))
    assert entry.startswith("NVIDIA H200; flash2 ") and entry.endswith("d = 64, 512 queries, 512 keys, 32 heads, causal, group 1")


def test_a_kernel_that_changed_is_measured_anew(few, monkeypatch) -> None:
    shape = tuning.Shape(64, 1, 1, 1)
    before = tuning._entry("X", shape)
    monkeypatch.setattr(tuning.hashlib, "sha256", lambda text: type("Digest", (), {"hexdigest": lambda self: "0" * 64})())
    assert tuning._entry("X", shape) != before


def test_a_broken_cache_is_named(few, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(cp, "backend", "gpu", raising=False)
    monkeypatch.setattr(tuning, "_device", lambda: "NVIDIA H200")
    broken = tmp_path / "tiles.json"
    for text in ("{", "[]"):
        broken.write_text(text)
        with pytest.raises(CourseError, match="tiles.json .* delete it"):
            tuning.tune(64, 512, 32, cache=broken)


def test_where_the_cache_lies(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(tuning.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tuning.cache_file() == tmp_path / "lanewise" / "tiles.json"


def test_what_is_asked_must_make_sense() -> None:
    with pytest.raises(ValueError, match="at least one query"):
        tuning.tune(64, 0, 16)
    with pytest.raises(ValueError, match="multiple of group"):
        tuning.tune(64, 16, 3, group=2)
    with pytest.raises(ValueError, match="unknown GPU 'K80'"):
        tuning.tune(64, 16, 2, gpu="K80")
