"""The cost model and the tuner: counts against hand arithmetic, ranks against known orders, a cache that remembers, errors in a sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lanewise import cost_model, cp, results, simt, tuning
from lanewise.cost_model import Tile
from lanewise.exercise import _run
from lanewise.names import CourseError, find_course

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


def test_a_schedulers_products_and_its_other_instructions_add() -> None:
    one = cost_model.estimate(FEW[1])
    mine = one.work
    assert mine.products == 4 * 64 * 64 * 64 // 4096
    assert one.clocks["tensor cores"] == pytest.approx(mine.products / 4 * 48.7 / 8)  # four schedulers; 8 take 48.7 clocks
    assert one.clocks["issue"] == (mine.instructions - mine.products) / 4
    assert one.roofs["schedulers"] == one.clocks["tensor cores"] + one.clocks["issue"]
    other = cost_model.estimate(FEW[1], gpu="A100")
    assert other.roofs["schedulers"] == max(other.clocks["tensor cores"], other.clocks["issue"])


def test_no_roof_is_passed_and_one_block_alone_takes_longer() -> None:
    one = cost_model.estimate(FEW[1])
    assert list(one.roofs) == list(cost_model.ROOFS) and list(one.clocks) == list(cost_model.UNITS)
    roof = max(one.roofs.values())
    assert one.roofs[one.busiest] == roof
    # 2 barriers, fragments and shuffles, 8 products deep, 13 steps of arithmetic, a power
    assert one.alone == pytest.approx(max(roof, one.clocks["shared memory"] + one.clocks["powers"]) + 2 * (28.1 + 29 + 24) + 8 * 24 + 13 * 4.1 + 17)
    assert one.resident.blocks == 4 and one.per_tile == max(roof, one.alone / 4) and not one.waits
    assert one.launch == pytest.approx(8 * one.per_tile * 64)  # 64 tiles for 16 heads on 132 SMs: 8 blocks for one of them, in two rounds of 4


def test_a_launch_smaller_than_the_gpu_has_one_block_an_sm() -> None:
    one = cost_model.estimate(FEW[1], 64, heads=5)
    assert one.per_tile == one.alone == one.launch and one.waits
    assert cost_model.estimate(FEW[1], 64, heads=5 * 132).launch == pytest.approx(4 * max(max(one.roofs.values()), one.alone / 4) + one.alone)


def test_two_warps_leave_two_schedulers_idle() -> None:
    two, four = (cost_model.estimate(Tile(64, *shape), 4096, heads=1) for shape in ((64, 64, 2), (128, 64, 4)))
    chain = cost_model.chain(two.tile, cost_model.Latencies())
    assert two.alone - chain == pytest.approx(2 * two.roofs["schedulers"]) and four.alone - chain == pytest.approx(four.roofs["schedulers"])


def test_what_spills_is_moved() -> None:
    one = cost_model.estimate(Tile(128, 128, 128, 4))
    assert one.spilled > 0
    assert one.clocks["issue"] == (one.work.instructions - one.work.products + 4 * one.spilled / 4) / 4
    assert one.clocks["shared memory"] == one.work.wavefronts + one.spilled  # 128 threads: as many wavefronts of 128 bytes as bytes of a thread


def test_rates_and_latencies_are_the_measured_ones() -> None:
    table = results.read("mma_beside")
    clocks = {(row["how"], row["kind"], row["warps"]): row["clocks"] for row in table.rows if row["how"] in ("alone", "chain")}
    rates = cost_model.Rates()
    assert rates.tensor_flops == pytest.approx(4 * 8 * 4096 / min(clocks["alone", "none", warps] for warps in (1, 2, 4)), rel=0.01)
    assert clocks["alone", "power", 4] / 32 == pytest.approx(32 * 4 / rates.powers, rel=0.01)
    assert clocks["alone", "ldmatrix", 4] / 32 == pytest.approx(4 * 4 / rates.shared_wavefronts, rel=0.01)  # four schedulers, four wavefronts
    assert clocks["alone", "fma", 4] / 32 == pytest.approx(4 / rates.warp_instructions, rel=0.05)
    known = rates.latency
    kinds = {"none": known.product, "ldmatrix": known.ldmatrix, "shuffle": known.shuffle, "power": known.power}
    kinds |= dict.fromkeys(("fma", "add", "max"), known.arithmetic)
    assert {kind: clocks["chain", kind, 1] for kind in kinds} == pytest.approx(kinds, rel=0.03)
    assert known.barrier == pytest.approx(2 * clocks["alone", "barrier", 2] / 32, rel=0.01)  # 8 warps: two a scheduler, counted as two steps


def test_times_that_add_are_the_measured_ones() -> None:
    """Where other warps multiply, 48 instructions as of a softmax and 8 products take nearly what both take, not what the longer takes."""
    table = results.read("mma_beside")
    (row,) = (r for r in table.rows if (r["how"], r["kind"], r["warps"], r["others"]) == ("other warps", "mixed", 4, 48))
    assert row["clocks"] == pytest.approx(48.7 + 48, rel=0.06)


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
    assert len(cost_model.candidates(64)) == 12
    tiles = cost_model.candidates(128)
    assert len(tiles) == 9 == len(set(tiles))  # two warps would copy four rows a round
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


def test_measuring_launches_every_tile(monkeypatch) -> None:
    monkeypatch.setattr(tuning, "ROUNDS", 1)
    times = tuning._measured(tuning.Shape(64, 65, 40, 2, 2, True), FEW)
    assert set(times) == {str(tile) for tile in FEW} and all(ms >= 0 for ms in times.values())


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
    with pytest.raises(ValueError, match="no rates for 'K80': take one of A100, H100, H200"):
        tuning.tune(64, 16, 2, gpu="K80")


@pytest.mark.parametrize("d", [64, 128])
def test_every_candidate_is_right(d) -> None:
    rng = np.random.default_rng(d)
    q, k, v = (rng.standard_normal((1, n, d)).astype(np.float16) for n in (130, 150, 150))
    for causal in (False, True):
        s = q[0].astype(float) @ k[0].T.astype(float) * d**-0.5
        s = np.where(np.arange(150) <= np.arange(130)[:, None] + 20, s, -np.inf) if causal else s
        p = np.exp(s - s.max(axis=1, keepdims=True))
        right = p @ v[0] / p.sum(axis=1, keepdims=True)
        for tile in cost_model.candidates(d, causal):
            kernel = simt.compile(cost_model.SOURCE, names=(tile.name,)).kernel(tile.name)
            kernel.max_dynamic_shared_size_bytes = tile.shared_bytes
            o, lse = np.empty_like(q), np.empty((1, 130), np.float32)
            args = (q, k, v, simt.Output(o), simt.Output(lse), np.int32(130), np.int32(150), np.int32(1), np.float32(d**-0.5))
            report = kernel.launch(-(-130 // tile.Br), tile.threads, args, tile.shared_bytes)
            assert report.ok, f"{tile}: {report}"
            assert not np.linalg.norm(o[0] - right) > 1e-3 * np.linalg.norm(right), str(tile)


def test_the_exercise_ranks_tiles_that_exist() -> None:
    course = find_course()
    six = vars(_run(course.spec(course.exercise("ch24a")), "lanewise_kernels"))["SIX"]
    for Br, Bc, warps, registers, shared, *clocks, wait in six:
        guess = cost_model.estimate(Tile(128, Br, Bc, warps))
        assert (guess.used.registers, guess.tile.shared_bytes) == (registers, shared)
        assert [round(guess.clocks[unit]) for unit in cost_model.UNITS[:4]] == clocks
        assert round(cost_model.chain(guess.tile, cost_model.Latencies())) == wait
