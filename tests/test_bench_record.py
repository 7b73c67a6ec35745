"""The frame of the GPU benches on a stand-in for a GPU: options, rounding, and a table that says on what and with what it was measured."""

from __future__ import annotations

import importlib
import json
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanewise import results
from lanewise.bench import record

RUNTIME = SimpleNamespace(getDeviceProperties=lambda _: {"name": b"NVIDIA X1", "major": 9, "multiProcessorCount": 2}, runtimeGetVersion=lambda: 13000)
CUDA = SimpleNamespace(
    runtime=RUNTIME,
    ExternalStream=lambda _: SimpleNamespace(use=lambda: None),
    Device=lambda: SimpleNamespace(compute_capability="90"),
)
CUPY = SimpleNamespace(__version__="14", cuda=CUDA)
TORCH = SimpleNamespace(
    __version__="2.9",
    cuda=SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=0)),
    backends=SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91000)),
)
# Module → the functions that measure, each with the table it is for.
MEASURING = {
    "attention_ladder": {"measure": "attention_ladder"},
    "backward_ladder": {"measure": "backward_ladder"},
    "every_rung": {"measure": "every_rung"},
    "flash2_switches": {"switches": "flash2_switches", "short_launches": "short_launches"},
    "flash3_switches": {"measure": "flash3_switches"},
    "fp32_ladder": {"measure": "fp32_ladder"},
    "matmul_ladder": {"measure": "tensor_ladder"},
    "mma_beside": {"measure": "mma_beside"},
    "memory_levels": {"memory_levels": "memory_levels", "bandwidth_by_stride": "bandwidth_by_stride"},
    "streamed": {"measure": "streamed"},
    "tile_copies": {"tile_copies": "tile_copies"},
    "tile_sweep": {"sweep": "tile_sweep", "lone": "tile_alone"},
}


def test_options_are_out_and_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    parser = record.options("bench", "What is measured.")
    parser.add_argument("--sizes", type=record.sizes, default="1,2")
    assert parser.parse_args([]).out is None and parser.parse_args([]).sizes == [1, 2]
    assert parser.parse_args(["--out", "x.json", "--sizes", "512"]).out == Path("x.json") and parser.parse_args(["--sizes", "512,70"]).sizes == [512, 70]
    with pytest.raises(SystemExit):
        parser.parse_args(["--sizes", "many"])
    assert "argument --sizes: invalid sizes value: 'many'" in capsys.readouterr().err


def test_floats_alone_are_rounded() -> None:
    assert record.rounded([{"N": 512, "ms": 1.234567, "causal": True}], 3) == [{"N": 512, "ms": 1.235, "causal": True}]


@pytest.mark.parametrize("out", [True, False])
def test_a_table_says_on_what_and_with_what(out: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(results, "path_for", lambda gpu: tmp_path / f"{gpu}.json")
    monkeypatch.setattr(record, "driver_version", lambda: "580.1")
    path = tmp_path / ("mine.json" if out else "NVIDIA X1.json")
    table = record.record(CUPY, "chains", "python -m x", [{"ms": 1.5}], path if out else None, torch="2.9")
    entry = json.loads(path.read_text(encoding="utf-8"))["chains"]
    assert entry["rows"] == table.rows == [{"ms": 1.5}] and entry["command"] == "python -m x"
    assert (table.device, table.driver, table.date) == ("NVIDIA X1", "580.1", date.today().isoformat())
    assert set(entry["versions"]) == {"cupy", "torch", "numpy", "python"} and entry["versions"]["torch"] == "2.9"
    assert capsys.readouterr().out == f"chains: written to {path.name}\n"


def test_a_driver_that_nobody_can_name_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert record.driver_version() == "unknown"


@pytest.mark.parametrize("module", MEASURING)
def test_each_bench_puts_its_rows_where_it_was_told(module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench: Any = importlib.import_module(f"lanewise.bench.{module}")
    monkeypatch.setitem(sys.modules, "torch", TORCH)
    monkeypatch.setattr("lanewise.cp.real_cupy", lambda: CUPY)
    if module in ("tile_copies", "every_rung"):
        monkeypatch.setattr("lanewise.cp", CUPY)
    for told in ("summary", "correlations"):
        monkeypatch.setattr(bench, told, lambda _: [], raising=False)
    row = {"kernel": "x", "how": "alone", "d": 64, "N": 512, "causal": False, "TFLOPs": 2.0, "ratio": 1.1, "low": 1.0, "high": 1.2}
    row |= dict.fromkeys(("PyTorch", "cuDNN", "same_bits"), 1.0)
    for function in MEASURING[module]:
        monkeypatch.setattr(bench, function, lambda *_, **__: ([dict(row)], [dict(row)]) if module == "attention_ladder" else [dict(row)])
    assert bench.main(["--out", str(tmp_path / "x1.json")]) == 0
    written = json.loads((tmp_path / "x1.json").read_text(encoding="utf-8"))
    for table in MEASURING[module].values():
        assert written[table]["rows"] == [row] and written[table]["device"] == "NVIDIA X1"


def test_waiting_measures_each_of_its_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lanewise.bench import waiting

    monkeypatch.setattr("lanewise.cp.real_cupy", lambda: CUPY)
    monkeypatch.setattr(waiting, "TABLES", {name: lambda cp, name=name: [{"measured": name}] for name in waiting.TABLES})
    assert waiting.main(["--out", str(tmp_path / "x1.json")]) == 0
    written = json.loads((tmp_path / "x1.json").read_text(encoding="utf-8"))
    assert {name: written[name]["rows"] for name in waiting.TABLES} == {name: [{"measured": name}] for name in waiting.TABLES}
    assert waiting.main(["--only", "chains", "--out", str(tmp_path / "one.json")]) == 0
    assert [name for name, entry in json.loads((tmp_path / "one.json").read_text(encoding="utf-8")).items() if isinstance(entry, dict)] == ["chains"]
