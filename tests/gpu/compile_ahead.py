"""Compile counted kernels into CuPy's cache, several processes at a time: Nsight Compute's one process then spends its time on launches.

python tests/gpu/compile_ahead.py PART PARTS [ONLY]     every PARTS-th kernel, from PART on. ONLY: of those whose name this regular expression finds
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import paths  # noqa: F401  (first: it makes the next imports possible)
from all_cases import counted_cases
from values import AT_A_TIME


def compile_ahead(only: str = "") -> None:
    """All of them. What doesn't compile is the driver's to report."""
    command = [sys.executable, str(Path(__file__).resolve())]
    parts = [subprocess.Popen([*command, str(k), str(AT_A_TIME), only], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for k in range(AT_A_TIME)]
    for part in parts:
        part.wait()


def main(part: str, parts: str, only: str = "") -> None:
    import device  # after the tables: importing CuPy starts the driver

    kernels = dict.fromkeys((case.source, case.entry, case.options) for case in counted_cases() if re.search(only, case.name))
    for kernel in list(kernels)[int(part) :: int(parts)]:
        with suppress(Exception):
            device.kernel(*kernel).compile()


if __name__ == "__main__":
    main(*sys.argv[1:])
