"""What every GPU bench does around its measuring: its options, and the table with machine, versions and date in the results file."""

from __future__ import annotations

import argparse
import platform
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from lanewise import results


def options(command: str, page: str | None) -> argparse.ArgumentParser:
    """A parser that describes itself by the module's `page` and knows --out, a Path or None."""
    parser = argparse.ArgumentParser(prog=command, description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="another file instead of results/<gpu>.json")
    return parser


def sizes(text: str) -> list[int]:
    """Of "512,2048": a type for options that take several whole numbers."""
    return [int(size) for size in text.split(",")]


def rounded(rows: Sequence[results.Row], digits: int = 4) -> list[results.Row]:
    """The rows with so many digits behind the point of every float."""
    return [{key: round(x, digits) if isinstance(x, float) else x for key, x in row.items()} for row in rows]


def record(cp: Any, name: str, command: str, rows: list[results.Row], out: Path | None = None, **versions: str) -> results.Table:
    """Write the table into `out` or results/<gpu>.json. `versions` of what took part beside CuPy, NumPy and Python."""
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    known = {"cupy": cp.__version__, **versions, "numpy": np.__version__, "python": platform.python_version()}
    table = results.Table(name, device, driver_version(), date.today().isoformat(), command, known, rows)
    path = out or results.path_for(device)
    results.write(table, path)
    print(f"{name}: written to {path.name}", flush=True)
    return table


def driver_version() -> str:
    """The installed driver, as nvidia-smi names it; "unknown" where there is none to ask."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.split()[0]
