"""The harness of `make gpu` without a GPU: a stand-in for CuPy runs the kernels on the simulator, and misbehaves where it is told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GPU = Path(__file__).resolve().parents[1] / "gpu"
sys.path.insert(0, str(GPU))

import counters  # noqa: E402
import values  # noqa: E402
from all_cases import CASES  # noqa: E402

# Kernels named in KILLS end the process, those in WRONG write a wrong value; after a fault every call fails, as after a CUDA error.
STAND_IN = """
import os, types
import numpy as np
from lanewise import simt

__version__ = "0"
lost = False

def alive():
    if lost:
        raise RuntimeError("an earlier kernel failed")

class RawKernel:
    def __init__(self, source, name, options=(), backend=""):
        self.source, self.name = source, name
    def compile(self):
        self.kernel = simt.compile(self.source).kernel(self.name)
    def __call__(self, grid, block, arguments, shared_mem=0):
        global lost
        alive()
        if self.name in os.environ.get("KILLS", "").split():
            os._exit(9)
        report = self.kernel.launch(grid, block, list(arguments), shared_mem)
        os.write(1, report.printed.encode())
        if self.name in os.environ.get("WRONG", "").split():
            arguments[1].view(np.uint8)[5] ^= 1
        if not report.ok:
            lost = True
            raise RuntimeError("the kernel failed")

def asarray(array):
    alive()
    return np.array(array)

asnumpy = asarray
zeros = lambda n: types.SimpleNamespace(sum=lambda: types.SimpleNamespace(get=alive))
runtime = types.SimpleNamespace(deviceSynchronize=alive)
cuda = types.SimpleNamespace(Device=lambda: types.SimpleNamespace(compute_capability="90"), runtime=runtime)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cupy.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(GPU.parents[1])]))


@pytest.mark.slow
def test_one_bad_kernel_does_not_stop_the_others(stand_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KILLS", "copy_4")
    monkeypatch.setenv("WRONG", "copy_8")
    monkeypatch.setattr(values, "AT_A_TIME", 1)
    names = ["access.copy_4", "access.copy_8", "access.copy_16", "output.printf", "output.trap", "attention.row_softmax"]
    outcomes = {outcome.name: outcome for outcome in values.run([case for case in CASES if case.name in names])}
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "access.copy_4": "failed",
        "access.copy_8": "differs",
        "access.copy_16": "ok",
        "output.printf": "ok",
        "output.trap": "ok",  # an error is what it is there for
        "attention.row_softmax": "ok",
    }
    assert "the process ended (9) while it ran" in outcomes["access.copy_4"].message
    assert "isn't bit for bit what the simulator gave" in outcomes["access.copy_8"].message
    assert "NumPy: access.copy_8: argument 1, element (1,)" in outcomes["access.copy_8"].message


@pytest.mark.slow
def test_without_a_gpu_one_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("def zeros(n):\n    raise RuntimeError('cudaErrorInsufficientDriver: no driver')\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, str(GPU)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == "CuPy finds no GPU it can use: cudaErrorInsufficientDriver: no driver\n"


@pytest.mark.slow
def test_some_kernels_are_counted(stand_in: None, tmp_path: Path) -> None:
    launched = tmp_path / "launched"
    done = subprocess.run([sys.executable, str(GPU / "driver.py"), str(launched), r"^access\.copy_(4|16)$"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert launched.read_text().split() == ["access.copy_4", "access.copy_16"]


def test_earlier_readings_stay_where_some_kernels_are_read(tmp_path: Path) -> None:
    file = tmp_path / "ncu.json"
    whole = {"date": "2026-01-01", "nvrtc": "1", "kernels": {"a": {"x": 1}, "b": {"x": 2}, "course.c": {"x": 3}}}
    some = {"date": "2026-02-02", "nvrtc": "2", "kernels": {"b": {"x": 5, "date": "2026-02-02"}}}
    counters.keep(file, whole, False)
    assert json.loads(file.read_text()) == {**whole, "kernels": {"a": {"x": 1}, "b": {"x": 2}}}
    counters.keep(file, some, True)
    assert json.loads(file.read_text()) == {**some, "kernels": {"a": {"x": 1, "date": "2026-01-01"}, "b": {"x": 5, "date": "2026-02-02"}}}
    counters.keep(file, some, False)
    assert json.loads(file.read_text()) == some


@pytest.mark.parametrize(("repeats", "wavefronts"), [(0, 7), (3, 10), (None, 7)])
def test_wavefronts_are_the_hardwares_where_it_repeated_none(repeats: int | None, wavefronts: int) -> None:
    by_instruction = dict(zip(counters.BY_INSTRUCTION["shared_load_wavefronts"].names, ("8", "2"), strict=True))
    row = {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "7", **by_instruction}
    if repeats is not None:
        row[counters.REPEATS] = str(repeats)
    assert counters.numbers(row)[0] == {"shared_load_wavefronts": wavefronts}


def test_an_nsight_compute_without_wavefronts_by_instruction_gives_the_hardwares() -> None:
    row = {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "1,007", counters.REPEATS: "3"}
    assert counters.numbers(row)[0] == {"shared_store_wavefronts": 1007}
