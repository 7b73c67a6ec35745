"""`lanewise bench`: its launches are right, its file says where and when, and what is missing is said in one sentence."""

from __future__ import annotations

import json
import subprocess
from datetime import date
from pathlib import Path

import pytest

from lanewise import bench
from lanewise.bench import simulator


def test_the_median_leaves_the_first_call_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = iter([0.0, 1.0, 10.0, 13.0, 20.0, 22.0]), []
    monkeypatch.setattr(simulator.time, "perf_counter", lambda: next(clock))
    assert simulator.seconds(lambda: calls.append(1), repeats=3) == 2.0
    assert len(calls) == 4


def test_the_launches_are_right_and_clean() -> None:
    assert simulator.vector_add(1024)().ok  # each checks its values before it is timed
    assert simulator.tiled_matmul(32)().ok
    assert simulator.flash(True, heads=1, N=64)().ok


def test_a_missing_numba_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "Traceback …\nModuleNotFoundError: No module named 'numba'\n")
    monkeypatch.setattr(simulator.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match=r"^numba's simulator didn't run \(ModuleNotFoundError: No module named 'numba'\): `make bench` installs it"):
        simulator.numba_seconds("vector_add")


def test_the_file_says_where_and_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(simulator, "find_course", lambda: type("Course", (), {"root": tmp_path}))
    for name in ("cold_start", "attention", "tour", "memory"):
        monkeypatch.setattr(simulator, name, lambda name=name: {"measured": name})
    assert bench.main(["--without-numba"]) == 0
    content = json.loads((tmp_path / "results" / "simulator.json").read_text(encoding="utf-8"))
    assert content["device"] and date.fromisoformat(content["date"]) and content["cores"] >= 1 and "numba" not in content
    assert {content[table]["measured"] for table in ("cold_start", "flash", "tour", "memory")} == {"cold_start", "attention", "tour", "memory"}
    assert "written to results/simulator.json" in capsys.readouterr().out


def test_the_gpu_ladders_say_what_they_need(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_DEVICE", "simulator")
    assert bench.main(["--gpu"]) == 1
    assert "The ladders need a CUDA GPU" in capsys.readouterr().out


def test_a_child_that_fails_is_told() -> None:
    with pytest.raises(RuntimeError, match="a measured process failed: ZeroDivisionError"):
        simulator.child("1 / 0")
    assert 5 < float(simulator.child(simulator.PEAK)) < 60  # MiB of a Python that does nothing
