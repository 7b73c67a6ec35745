"""The benches of chapters 22 and 24 without a GPU: which variants are timed, what they need, and what is made of a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from lanewise import cost_model, cp, results
from lanewise.bench import flash2_switches, tile_sweep
from lanewise.cost_model import Tile
from lanewise.simt import compile


@pytest.mark.parametrize("causal", [False, True])
def test_each_idea_has_its_step_and_none_is_lost(causal: bool) -> None:
    variants = flash2_switches.variants(causal)
    steps = [variant.ideas for variant in variants if variant.series == "cumulative"]
    assert steps[0] == frozenset() and steps[-1] == set(flash2_switches.IDEAS[: 5 if causal else 4])
    assert all(len(after - before) == 1 and before < after for before, after in zip(steps, steps[1:], strict=False))
    assert all(variant.ideas == {variant.name} for variant in variants if variant.series == "alone")
    assert all(steps[-1] - variant.ideas == {variant.name} for variant in variants if variant.series == "without")
    assert len(variants) == len({(variant.series, variant.ideas) for variant in variants})


def test_the_bits_are_the_kernels_own() -> None:
    text = (flash2_switches.find_course().root / "kernels" / "flash2_by_queries.cuh").read_text(encoding="utf-8")
    for idea, bit in flash2_switches.BIT.items():
        assert f"constexpr unsigned {idea.replace(' ', '_')} = {bit};" in text
    assert f"constexpr unsigned all_ideas = {sum(flash2_switches.BIT.values())};" in text


def test_shared_memory_is_what_the_heads_say() -> None:
    assert flash2_switches.shared_bytes(64, frozenset(["split queries"])) == 2 * 64 * (128 + 2 * 64)
    assert flash2_switches.shared_bytes(128, frozenset()) == 2 * 128 * 256 + 256 * 136 + 36 * 128 < 227 * 1024


@pytest.mark.slow
def test_a_swept_table_gives_correlations() -> None:
    tiles = [Tile(64, 64, 32, 4), Tile(64, 64, 64, 4), Tile(64, 128, 32, 8)]
    guesses = cost_model.ranked(tiles, 4096, heads=128)
    rows = [
        {"d": 64, "causal": False, "N": 4096, "heads": 128, "Br": each.tile.Br, "Bc": each.tile.Bc, "warps": each.tile.warps, "ms": float(place)}
        for place, each in enumerate(guesses)
    ]
    table = results.Table("tile_sweep", "", "", "", "", {}, rows)
    ((shape, ways),) = tile_sweep.correlations(table)
    assert shape == "d = 64, N = 4,096, 128 heads" and list(ways) == ["resident warps", "highest roof", "cost model"]
    assert ways["cost model"] == pytest.approx(1) and -1 <= ways["resident warps"] <= 1
    turned = results.Table("tile_sweep", "", "", "", "", {}, [{**row, "ms": -row["ms"]} for row in rows])
    assert tile_sweep.correlations(turned)[0][1]["cost model"] == pytest.approx(-1)


@pytest.mark.slow
def test_the_model_orders_the_measured_tiles_and_occupancy_does_not() -> None:
    table = results.read("tile_sweep")
    rows = [row for row in table.rows if (row["d"], row["causal"], row["N"]) == (64, False, 4096)]
    ((_, ways),) = tile_sweep.correlations(replace(table, rows=rows))
    assert len(rows) == 12 and ways["cost model"] > 0.8 > ways["highest roof"] and ways["resident warps"] < 0


@pytest.mark.slow
def test_a_tile_whose_copies_would_leave_their_place_is_refused() -> None:
    name = Tile(128, 64, 32, 2).name
    with pytest.raises(Exception, match="take more threads, or fewer"):
        compile(cost_model.SOURCE, names=(name,)).kernel(name)


@pytest.mark.slow
def test_the_sweep_runs_every_tile_and_refuses_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = [Tile(64, 64, 32, 4), Tile(64, 128, 32, 8)]
    kernels = {}
    for tile in tiles:
        kernels[tile] = cp.RawModule(code=cost_model.SOURCE, name_expressions=(tile.name,)).get_function(tile.name)
        kernels[tile].max_dynamic_shared_size_bytes = tile.shared_bytes
    monkeypatch.setattr(tile_sweep, "kernel", kernels.get)
    monkeypatch.setattr(tile_sweep, "candidates", lambda d, causal: tiles)
    monkeypatch.setattr(tile_sweep, "RAGGED", [(65, 70)])
    monkeypatch.setattr(tile_sweep, "ROUNDS", 1)
    rows = tile_sweep.measure(cp, 64, False, [(70, 2)])
    assert [(row["Br"], row["Bc"], row["warps"], row["N"], row["heads"]) for row in rows] == [(64, 32, 4, 70, 2), (128, 32, 8, 70, 2)]
    assert all(row["ms"] > 0 and row["TFLOPs"] > 0 for row in rows)
    monkeypatch.setattr(tile_sweep, "attend", lambda *_: None)
    with pytest.raises(AssertionError, match=r"flash2<__half, 64, 32, false, 64, 4> is wrong for Nq = 65, Nk = 70: nan"):
        tile_sweep.measure(cp, 64, False, [(70, 2)])


@pytest.mark.parametrize("only", [None, "tile_alone"])
def test_the_sweep_writes_the_tables_it_was_asked_for(only: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gpu = SimpleNamespace(getDeviceProperties=lambda _: {"name": b"NVIDIA X1"})
    monkeypatch.setattr("lanewise.cp.real_cupy", lambda: SimpleNamespace(__version__="14", cuda=SimpleNamespace(runtime=gpu)))
    monkeypatch.setattr(tile_sweep, "sweep", lambda _: [{"ms": 1.23456, "of": "tile_sweep"}])
    monkeypatch.setattr(tile_sweep, "lone", lambda _: [{"ms": 1.23456, "of": "tile_alone"}])
    monkeypatch.setattr(tile_sweep, "correlations", lambda table: [])
    path = tmp_path / "x1.json"
    assert tile_sweep.main(["--out", str(path), *(["--only", only] if only else [])]) == 0
    written = json.loads(path.read_text(encoding="utf-8"))
    wanted = [only] if only else ["tile_sweep", "tile_alone"]
    assert {name: written[name]["rows"] for name in ("tile_sweep", "tile_alone") if name in written} == {name: [{"ms": 1.2346, "of": name}] for name in wanted}
