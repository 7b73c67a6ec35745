"""A case run on the simulator: what its launch left behind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from lanewise import simt

from .case import Case


@dataclass(frozen=True)
class Run:
    """The report of a launch and the arrays it wrote, in the order of `case.outputs`."""

    report: object
    outputs: tuple[np.ndarray, ...]
    arguments: tuple


@cache
def kernel(source: str, entry: str, options: tuple[str, ...]) -> simt.Kernel:
    """Compiled once: tables are launched again and again."""
    return simt.compile(source, options=options).kernel(entry)


def launch(case: Case, args: list | None = None, *, check: bool = True, schedule: int = 0) -> Run:
    """Compile and launch `case` with its own arguments or with those given; the arguments stay as they were."""
    given = tuple(args if args is not None else case.args())
    arrays = [a.copy() if isinstance(a, np.ndarray) else a.of(a.passed.copy()) if isinstance(a, simt.TensorMap) else a for a in given]
    compiled = kernel(case.source, case.entry, case.options)
    if case.shared_bytes > 48 * 1024:
        compiled.max_dynamic_shared_size_bytes = case.shared_bytes
    report = compiled.launch(case.grid, case.block, arrays, case.shared_bytes, check=check, schedule=schedule)
    written = [arrays[k] for k in case.outputs]
    return Run(report, tuple(a.passed if isinstance(a, simt.TensorMap) else a for a in written), given)
