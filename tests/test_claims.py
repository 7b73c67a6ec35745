"""docs/claims.md: made from results alone, no number typed, every figure used has a table with its origin; and what it says holds when measured again."""

import re
from dataclasses import replace

import numpy as np
import pytest

from lanewise import claims, results
from lanewise.__main__ import main
from lanewise.claims import measure
from lanewise.claims.figures import OF, figures
from lanewise.claims.lines import CLAIMS
from lanewise.names import CourseError, find_course

pytestmark = pytest.mark.slow

COURSE = find_course()
# Digits that are names, not numbers.
NAMES = re.compile(r"\{\w+\}|ch\d\d\w*|L[12]\b|N²|N × N|float32|fp16|bf16|H200|FlashAttention-\d|flash\d")


def test_the_page_is_what_the_results_give() -> None:
    assert claims.stale_page(COURSE) == []


def test_no_measured_number_is_typed() -> None:
    for claim in CLAIMS:
        assert not re.search(r"\d", NAMES.sub("", claim.measured)), f"{claim.number}: {claim.measured}"


def test_every_claim_of_the_course_so_far_says_what_it_is_held_against() -> None:
    for claim in CLAIMS:
        assert set(claim.tables) <= set(OF), claim.number
        assert (claim.verdict == "documented") == bool(claim.source), f"{claim.number}: documented means that a source is named"
        if claim.verdict in ("confirmed", "confirmed with a condition", "corrected"):
            assert claim.measured and claim.tables, f"{claim.number} has a verdict without a measurement"
        if claim.verdict in ("confirmed with a condition", "corrected"):
            assert claim.why, f"{claim.number} doesn't say what holds instead"
    numbers = [claim.number for claim in CLAIMS]
    assert len(set(numbers)) == len(numbers)
    assert {int(re.match(r"\d+", number)[0]) for number in numbers} == set(range(1, 20))  # the list has 19 entries


def test_every_table_is_quoted_and_every_figure_has_its_place() -> None:
    known = figures(claims.stored())
    assert {name for claim in CLAIMS for name in claim.tables} == set(OF)
    for claim in CLAIMS:
        offered = {name for table in claim.tables for name in known[table]}
        assert set(re.findall(r"\{(\w+)\}", claim.measured)) <= offered, claim.number


def test_without_tables_nothing_is_claimed_to_be_measured() -> None:
    page = claims.page({})
    assert f"{sum(claim.verdict == 'documented' for claim in CLAIMS)} documented" in page
    assert "**corrected**" not in page and "**confirmed" not in page


def test_a_verdict_waits_for_its_table() -> None:
    tables = claims.stored()
    del tables["fp32_ladder"]
    row = next(line for line in claims.page(tables).splitlines() if line.startswith("| 4b "))
    assert row.endswith("| – | **not measured yet** |")


def test_a_changed_reading_changes_the_page() -> None:
    tables = claims.stored()
    levels = tables["memory_levels"]
    rows = [entry | {"cycles": 777.0} if entry["level"] == "global memory" else entry for entry in levels.rows]
    page = claims.page(tables | {"memory_levels": replace(levels, rows=rows)})
    assert "| 777 cycles, beyond the L2 cache " in page
    assert re.search(r"^\| global memory \| .* \| 777\.0 \|", page, re.MULTILINE)


def test_a_stale_page_and_a_broken_table_are_one_sentence(tmp_path, monkeypatch) -> None:
    course = type(COURSE)(tmp_path)
    assert claims.stale_page(course) == ["docs/claims.md isn't what results/*.json give: run `lanewise build --docs`."]
    assert [path.name for path in claims.write_page(course)] == ["claims.md"]
    assert claims.write_page(course) == []
    monkeypatch.setattr(results, "read", lambda name, gpu="h200": results.Table(name, "x", "", "2026-11-29", "y", {}, [{"level": "L1 cache"}]))
    with pytest.raises(CourseError, match=r"A table in results/ lacks a row or column .*: measure it again\."):
        claims.stale_page(course)


def test_build_writes_the_page_and_check_compares_it(tmp_path, monkeypatch, capsys) -> None:
    for folder in ("chapters", "kernels", "solutions"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("lanewise.commands.author.find_course", lambda: type(COURSE)(tmp_path))
    assert main(["check"]) == 1
    assert capsys.readouterr().err == "docs/claims.md isn't what results/*.json give: run `lanewise build --docs`.\n"
    assert main(["build", "--docs"]) == 0
    assert capsys.readouterr().out == "wrote docs/claims.md\n"
    assert main(["check"]) == 0 and main(["build"]) == 0
    page = tmp_path / "docs" / "claims.md"
    page.write_text(page.read_text(encoding="utf-8").replace("corrected", "confirmed"), encoding="utf-8")
    assert main(["check"]) == 1


def test_an_unknown_table_is_one_sentence(capsys) -> None:
    from lanewise.claims.__main__ import main as measured

    assert measured(["--measure", "speed"]) == 1
    assert capsys.readouterr().err.startswith("There is no table 'speed': take some of ")


@pytest.mark.parametrize("name", ["branches", "sums", "atomic_orders", "unstored_scores", "softmax_slots", "occupied", "tile_sums", "listing_b", "stages"])
def test_counts_measured_again_are_the_stored_ones(name: str) -> None:
    assert measure.TABLES[name]() == results.read(name, "claims").rows


@pytest.mark.parametrize(
    "name, rows",
    [
        ("naive_steps", lambda: measure.naive_steps((128,))),
        ("ways", lambda: measure.ways((64, 128))),
        ("tiles", lambda: measure.tiles(((32, 64), (64, 32)))),
        ("keys_outer", lambda: measure.keys_outer((64,))),
        ("backward", lambda: measure.backward((64,))),
        ("sixteen_bits", lambda: measure.sixteen_bits((1,))),
        ("streamed_keys", lambda: measure.streamed_keys((1000,))),
        ("tile_costs", lambda: [row for row in measure.tile_costs((64,)) if row["warps"] == 4]),
    ],
)
def test_some_rows_measured_again_are_stored_ones(name: str, rows) -> None:
    stored = results.read(name, "claims").rows
    assert all(row in stored for row in rows())


def test_listing_a_is_right_for_one_row_and_one_tile_and_not_for_more() -> None:
    rng = np.random.default_rng(3)
    Q, K, V = rng.standard_normal((1, 8)), rng.standard_normal((64, 8)), rng.standard_normal((64, 8))
    e = np.exp(Q @ K.T)
    assert np.allclose(measure.listing_a(Q, K, V, 64), e @ V / e.sum(), rtol=2e-6)
    Q = rng.standard_normal((128, 8))
    assert measure.listing_a(Q, rng.standard_normal((128, 8)), np.ones((128, 1)), 64).mean() == pytest.approx(128 / 4096, rel=1e-5)


def test_a_row_far_below_its_tile_loses_its_weights() -> None:
    errors = {row["gap"]: (row["error_of_a_weight"], row["with_1e-6"]) for row in measure.far_below()}
    assert float(errors[90][0]) < 1e-3 and errors[110][0] == "NaN"
    assert float(errors[0][1]) < 1e-6 and float(errors[20][1]) > 0.5


def test_a_constant_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"ch12_flash_tiles.cu defines Bz 0 times"):
        measure.sized("ch12_flash_tiles", Bz=8)
