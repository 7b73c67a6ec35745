"""Nsight Compute over the counted kernels: one process, its CSV read, compared with the simulator's counters."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from compile_ahead import compile_ahead

HERE = Path(__file__).resolve().parent
LIMIT_S = 1500  # some 1500 kernels, each as often as its metrics need passes


@dataclass(frozen=True)
class Metric:
    """Nsight Compute's metrics for one counter of ours: their sum, divided by `per`."""

    names: tuple[str, ...]
    per: int = 1

    def __str__(self) -> str:
        return " + ".join(self.names) + (f", divided by {self.per}" if self.per > 1 else "")


def _metric(*bases: str, per: int = 1) -> Metric:
    return Metric(tuple(f"{base}.sum" for base in bases), per)


# Our counter → Nsight Compute's metrics (lanewise/simt/counters.py says the same).
METRICS = {
    "global_load_requests": _metric("l1tex__t_requests_pipe_lsu_mem_global_op_ld"),
    "global_load_sectors": _metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld"),
    "global_store_requests": _metric("l1tex__t_requests_pipe_lsu_mem_global_op_st"),
    "global_store_sectors": _metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st"),
    "shared_load_requests": _metric("smsp__sass_inst_executed_op_shared_ld"),
    "shared_load_wavefronts": _metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld"),
    "shared_store_requests": _metric("smsp__sass_inst_executed_op_shared_st"),
    "shared_store_wavefronts": _metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"),
    "dram_read_bytes": _metric("dram__bytes_read"),
    "dram_write_bytes": _metric("dram__bytes_write"),
}
# The same for tensor cores and the copy engine, where the GPU has these metrics (Hopper has all). An mma of 8-bit floats becomes two of fp16 there:
# operations are equal, instructions aren't.
TENSOR_METRICS = {
    "tensor_operations": _metric(*(f"sm__ops_path_tensor_src_{kind}" for kind in ("fp16", "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "fp8", "int8", "int1"))),
    "wgmma_instructions": _metric("sm__inst_executed_pipe_tensor_op_gmma", per=4),  # it counts warps
    "wgmma_shared_wavefronts": _metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma"),
    "tma_requests": _metric(*(f"smsp__sass_inst_executed_op_tma_{way}" for way in ("ld", "st", "red"))),
    "tma_load_sectors": _metric("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld"),
    "tma_store_sectors": _metric(*(f"l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_{way}" for way in ("st", "red"))),
}
METRICS |= TENSOR_METRICS
# The hardware counts repeats, too, of accesses that found their banks taken by something else. Where it had some, the wavefronts by instruction are what the
# addresses make. They alone won't do: Nsight Compute works them out, and for wide loads in no order it gives other numbers than the hardware
# without repeats (5 of 166 kernels of counted/banks.py, H200).
REPEATS = "l1tex__data_bank_conflicts_type_arbitration.sum"
_BY_INSTRUCTION = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
BY_INSTRUCTION = {
    "shared_load_wavefronts": _metric(f"{_BY_INSTRUCTION}_ld", f"{_BY_INSTRUCTION}_ldsm"),
    "shared_store_wavefronts": _metric(f"{_BY_INSTRUCTION}_st", f"{_BY_INSTRUCTION}_stsm"),
}
EXACT = [name for name in METRICS if not name.startswith("dram")]
# Where a difference may hide: kept beside the readings, compared with nothing.
ASIDE = [
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "smsp__sass_inst_executed_op_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    *(name for metric in BY_INSTRUCTION.values() for name in metric.names),
    REPEATS,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
]
LAUNCH_READS = 8 * 1024  # bytes of DRAM that the launch itself reads at most (2.3 KB mostly), the code not counted
DRAM_SHARE = 0.03


@dataclass(frozen=True)
class Reading:
    """Nsight Compute's numbers for one launch."""

    name: str
    counters: dict[str, int]
    aside: dict[str, int]


def available() -> bool:
    return shutil.which("ncu") is not None


def version() -> str:
    text = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=False).stdout
    return next((line.split()[1] for line in text.splitlines() if line.startswith("Version")), "unknown")


def known_metrics(wanted: list[str]) -> list[str]:
    """Those of `wanted` that this Nsight Compute has for this GPU."""
    listing = subprocess.run(["ncu", "--query-metrics", "--query-metrics-mode", "base"], capture_output=True, text=True, check=False, timeout=60).stdout
    bases = {line.split()[0] for line in listing.splitlines() if line.strip()}
    return [metric for metric in wanted if metric.rsplit(".", 1)[0] in bases]


def read(only: str = "") -> tuple[list[Reading], list[str]]:
    """The readings in order of launch, and what went wrong, one sentence each. `only`: a regular expression that finds the kernels' names."""
    compile_ahead(only)
    asked = [name for counter, metric in METRICS.items() if counter not in TENSOR_METRICS for name in metric.names]
    try:
        tensor = [name for metric in TENSOR_METRICS.values() for name in metric.names]
        more = [name for name in known_metrics([*tensor, *ASIDE]) if name not in asked]
    except subprocess.TimeoutExpired:
        more = []
    readings, problems = profile([*asked, *more], only)
    if not readings and more:
        readings, problems = profile(asked, only)
    return readings, problems


def profile(metrics: list[str], only: str = "") -> tuple[list[Reading], list[str]]:
    """One run of the driver under Nsight Compute."""
    with tempfile.TemporaryDirectory() as folder:
        launched, log = Path(folder) / "launched", Path(folder) / "log"
        command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(metrics), "--clock-control", "none"]
        command += ["--target-processes", "all", "--log-file", str(log), sys.executable, str(HERE / "driver.py"), str(launched), only]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            errors = [] if done.returncode == 0 else [f"Nsight Compute ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"]
            errors += [line for line in done.stderr.splitlines() if "doesn't compile" in line]  # the driver's own sentences
        except subprocess.TimeoutExpired:
            errors = [f"Nsight Compute took longer than {LIMIT_S} s"]
        names = launched.read_text(encoding="utf-8").splitlines() if launched.exists() else []
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    rows = table(text)
    if not rows:
        return [], [*errors, f"Nsight Compute gave no table: {text[:500]}"]
    if len(rows) != len(names):
        errors.append(f"Nsight Compute saw {len(rows)} launches, the driver made {len(names)}")
    return [Reading(name, *numbers(row)) for name, row in zip(names, rows, strict=False)], errors


def keep(file: Path, content: dict, some: bool) -> None:
    """Write readings for the tests to compare with. The course's own kernels change with its chapters: `make gpu` alone compares them.

    `some`: of kernels that weren't read now, the earlier readings stay, each with its date.
    """
    before = json.loads(file.read_text(encoding="utf-8")) if some and file.exists() else {"kernels": {}}
    for reading in before["kernels"].values():
        reading.setdefault("date", before["date"])
    now = {name: reading for name, reading in content["kernels"].items() if not name.startswith("course.")}
    file.write_text(json.dumps({**content, "kernels": before["kernels"] | now}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table(text: str) -> list[dict[str, str]]:
    """The rows of `--csv --page raw`: a header, a row of units, one row for each launch; lines of `==PROF==` stand before."""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"')))))
    return [row for row in rows if (row.get("ID") or "").isdigit()]


def numbers(row: dict[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """(our counters, the others) of one row."""
    repeats = whole(row.get(REPEATS) or "0") > 0
    metrics = METRICS | {name: metric for name, metric in BY_INSTRUCTION.items() if repeats and all(map(row.get, metric.names))}
    ours = {name: reading(row, metric) for name, metric in metrics.items() if all(map(row.get, metric.names))}
    others = {metric: whole(row[metric]) for metric in row if metric in ASIDE and row[metric]}
    return ours, others


def reading(row: dict[str, str], metric: Metric) -> int:
    total = sum(whole(row[name]) for name in metric.names)
    if total % metric.per:
        raise ValueError(f"{' + '.join(metric.names)} is {total}, no multiple of {metric.per}: it isn't what it is taken for.")
    return total // metric.per


def whole(text: str) -> int:
    return round(float(text.replace(",", "")))


def differences(measured: dict[str, int], simulated: dict[str, int | None], code_bytes: int, fetched: int | None = None) -> list[str]:
    """What of the counters and of DRAM's reads isn't as Nsight Compute has it; one phrase each. Of tensor cores and copies what was read.

    `fetched`: `Report.dram_fetch_bytes`, where accesses leave out one sector of a pair (an H200 fetches both). DRAM reads: within 3 %, or up to 8 KB
    below what was measured without the kernel's machine code, which comes from DRAM, too.
    """
    found = [
        f"{name} {simulated.get(name)} instead of {measured.get(name)}"
        for name in EXACT
        if name in measured or name not in TENSOR_METRICS
        if measured.get(name) != simulated.get(name)
    ]
    read, ours = measured.get("dram_read_bytes"), simulated.get("dram_read_bytes") if fetched is None else fetched
    if read is None or ours is None or not (abs(ours + code_bytes - read) <= DRAM_SHARE * read or 0 <= read - code_bytes - ours <= LAUNCH_READS):
        found.append(f"dram_read_bytes {ours} and {code_bytes} of code instead of {read}")
    return found
