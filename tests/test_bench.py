"""`lanewise bench`: its launches are right, its file says where and when, and what is missing is said in one sentence."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
from datetime import date
from pathlib import Path
from types import SimpleNamespace

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


def test_the_ladders_are_the_modules_that_are_there() -> None:
    modules = {name: importlib.import_module(f"lanewise.bench.{name}") for name in bench.LADDERS}
    assert {name for name, module in modules.items() if "import torch" in inspect.getsource(module)} == set(bench.NEEDS_TORCH)
    files = {path.stem for path in Path(bench.__file__).parent.glob("*.py")} - {
        "__init__",
        "simulator",
        "numba_kernels",
        "duel",
        "layer",
        "libraries",
        "record",
    }
    assert files == set(bench.LADDERS) and len(bench.LADDERS) == len(files)


def on_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, torch: bool, failing: str = "") -> tuple[int, list[str]]:
    """Status of `bench --gpu` on an NVIDIA X1 and the modules it called; these do nothing, except that attention_ladder writes the H200's table."""
    from lanewise import results

    called: list[str] = []
    table = results.read("attention_ladder")
    assert table is not None

    def module(name: str) -> SimpleNamespace:
        def main(argv: list[str]) -> int:
            called.append(name.rpartition(".")[2])
            if called[-1] == "attention_ladder":
                results.write(table, tmp_path / "x1.json")
            if called[-1] == failing == "every_rung":
                raise MemoryError("no room")
            return int(called[-1] == failing)

        return SimpleNamespace(main=main)

    runtime = SimpleNamespace(getDeviceProperties=lambda _: {"name": b"NVIDIA X1"})
    monkeypatch.setattr("lanewise.cp.find_device", lambda: SimpleNamespace(backend="gpu", why=""))
    monkeypatch.setattr("lanewise.cp.real_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(results, "path_for", lambda gpu: tmp_path / ("x1.json" if gpu == "NVIDIA X1" else "none.json"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if torch else None)
    monkeypatch.setattr("importlib.import_module", module)
    return bench.main(["--gpu"]), called


def test_all_ladders_are_measured_and_the_picture_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_a_gpu(monkeypatch, tmp_path, torch=True) == (0, list(bench.LADDERS))
    said = capsys.readouterr().out
    assert "written to results/x1.json: attention_ladder; not measured: none\nthe attention ladder is drawn in results/x1_ladder.svg" in said
    assert (tmp_path / "x1_ladder.svg").read_text(encoding="utf-8").startswith("<svg")


def test_without_pytorch_the_others_are_still_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, called = on_a_gpu(monkeypatch, tmp_path, torch=False)
    said = capsys.readouterr().out
    assert status == 1 and called == [name for name in bench.LADDERS if name not in bench.NEEDS_TORCH]
    assert "attention_ladder: left out, it needs PyTorch to stand beside: pip install torch" in said and "no picture: the attention ladder" in said


@pytest.mark.parametrize(("failing", "said"), [("waiting", ""), ("every_rung", "every_rung: MemoryError: no room\n")])
def test_a_ladder_that_fails_does_not_stop_the_others(
    failing: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_a_gpu(monkeypatch, tmp_path, torch=True, failing=failing) == (1, list(bench.LADDERS))
    out = capsys.readouterr().out
    assert said in out and f"written to results/x1.json: attention_ladder; not measured: {failing}\n" in out


def test_a_child_that_fails_is_told() -> None:
    with pytest.raises(RuntimeError, match="a measured process failed: ZeroDivisionError"):
        simulator.child("1 / 0")
    assert 5 < float(simulator.child(simulator.PEAK)) < 60  # MiB of a Python that does nothing
