"""A case run on the simulator: what its launch left behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

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


def placed(args: Sequence, copy: Callable[[np.ndarray], Any]) -> list:
    """The arguments with every array replaced by `copy(array)`, the same one wherever the array stands: as a pointer, in a tensor map, twice."""
    made: dict[int, Any] = {}

    def of(array: np.ndarray) -> Any:
        if id(array) not in made:
            made[id(array)] = copy(array)
        return made[id(array)]

    return [of(a) if isinstance(a, np.ndarray) else a.of(of(a.passed)) if isinstance(a, simt.TensorMap) else a for a in args]


def launch(case: Case, args: list | None = None, *, check: bool = True, schedule: int = 0) -> Run:
    """Compile and launch `case` with its own arguments or with those given; the arguments stay as they were."""
    given = tuple(args if args is not None else case.args())
    arrays = placed(given, np.copy)
    compiled = kernel(case.source, case.entry, case.options)
    if case.shared_bytes > 48 * 1024:
        compiled.max_dynamic_shared_size_bytes = case.shared_bytes
    report = compiled.launch(case.grid, case.block, arrays, case.shared_bytes, check=check, schedule=schedule)
    written = [arrays[k] for k in case.outputs]
    return Run(report, tuple(a.passed if isinstance(a, simt.TensorMap) else a for a in written), given)
