"""Tables of readings: a run replaces only its own, and every table says where it comes from."""

import json
from dataclasses import replace

import pytest

from lanewise import results
from lanewise.names import CourseError

TABLE = results.Table(
    "levels", "NVIDIA H200", "580.1", "2026-11-29", "python -m lanewise.bench.levels", {"cupy": "14.0"},
    [{"level": "shared memory", "cycles": 1234.56, "lanes": 32}, {"level": "L2", "cycles": 7.0, "lanes": 1}],
)  # fmt: skip


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "path_for", lambda gpu: tmp_path / f"{gpu}.json")
    return tmp_path / "h200.json"


def test_a_table_comes_back_as_it_was(path):
    results.write(TABLE, path)
    assert results.read("levels") == TABLE
    assert results.read("levels").column("lanes") == [32, 1]


def test_what_was_not_measured_is_none(path):
    assert results.read("levels") is None
    results.write(TABLE, path)
    assert results.read("other") is None and results.read("levels", "t4") is None


def test_a_run_replaces_only_its_own_table(path):
    results.write(TABLE, path)
    results.write(replace(TABLE, name="other", date="2026-12-01", rows=[{"a": 1}]), path)
    results.write(replace(TABLE, rows=[{"a": 2}]), path)
    assert results.read("levels").rows == [{"a": 2}] and results.read("other").rows == [{"a": 1}]
    assert json.loads(path.read_text())["device"] == "NVIDIA H200"


def test_some_rows_of_a_table():
    assert TABLE.only("lanes", (1, 2)) == replace(TABLE, rows=TABLE.rows[1:])


def test_some_columns_of_a_table():
    assert TABLE.columns("lanes", "level").rows == [{"lanes": 32, "level": "shared memory"}, {"lanes": 1, "level": "L2"}]
    assert TABLE.columns("lanes").origin == TABLE.origin
    with pytest.raises(KeyError, match="warps"):
        TABLE.columns("warps")


def test_as_text_it_has_columns_and_an_origin():
    assert str(TABLE).splitlines() == [
        "level           cycles  lanes",
        "shared memory  1,234.6     32",
        "L2                 7.0      1",
        "measured on NVIDIA H200, driver 580.1, 2026-11-29: python -m lanewise.bench.levels",
    ]


def test_heads_are_words_and_units():
    assert str(replace(TABLE, rows=[{"moved_gb_s": 1.0, "sectors_a_request": 4}])).splitlines()[0] == "moved GB/s  sectors a request"


def test_small_numbers_ratios_and_flags_are_readable():
    row = {"causal": False, "error": 0.00029747, "zero": 0.0, "ratio": 1.0583, "of_efficient": 0.5, "TFLOPs": 310.69}
    assert str(replace(TABLE, rows=[row])).splitlines()[1].split() == ["False", "0.0003", "0.0", "1.06", "0.50", "310.7"]


def test_the_file_is_named_after_the_gpu():
    assert results.path_for("NVIDIA H200").name == results.path_for("h200").name == "h200.json"
    assert results.path_for("NVIDIA A100-SXM4-80GB").name == "a100-sxm4-80gb.json"


def test_a_broken_file_and_a_broken_table_are_named(path):
    path.write_text("{")
    with pytest.raises(CourseError, match=r"results/h200.json isn't JSON .*: take it from git again"):
        results.read("levels")
    path.write_text('{"levels": {"rows": []}}')
    with pytest.raises(CourseError, match="The table 'levels' of results/h200.json isn't whole .*: measure it again"):
        results.read("levels")
