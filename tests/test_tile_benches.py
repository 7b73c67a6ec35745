"""The benches of chapters 22 and 24 without a GPU: which variants are timed, what they need, and what is made of a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanewise import cost_model, results
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
