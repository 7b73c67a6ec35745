"""A kernel with known results: one table serves the simulator's tests, the property tests and the run on a GPU.

Imports NumPy alone, so that an interpreter with nothing but CuPy beside it can read the same tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Tolerance:
    """|actual − expected| ≤ absolute + relative·|expected| + ulp·(distance to the next float). All zero: equal bit for bit."""

    relative: float = 0.0
    absolute: float = 0.0
    ulp: float = 0.0

    @property
    def exact(self) -> bool:
        return not (self.relative or self.absolute or self.ulp)


EXACT = Tolerance()


@dataclass(frozen=True)
class Case:
    """One launch. `args` makes fresh arguments, the same at every call; `expect(*args)` gives one array for each position in `outputs`.

    `rows` names the leading index of a table's output. `faulty` kernels stop with an error on a GPU and in the simulator.
    `prints` is what printf writes. `drawn` makes arguments from given operands (property tests).
    """

    name: str
    source: str
    entry: str
    args: Callable[[], list]
    outputs: tuple[int, ...]
    expect: Callable[..., Sequence[np.ndarray]] | None
    grid: int | tuple[int, ...] = 1
    block: int | tuple[int, ...] = 128
    shared_bytes: int = 0
    options: tuple[str, ...] = ()
    tolerances: tuple[Tolerance, ...] = (EXACT,)
    rows: tuple[str, ...] = ()
    slow: bool = False
    faulty: bool = False
    prints: str | None = None
    drawn: Callable[..., list] | None = field(default=None, compare=False)

    def tolerance(self, row: int = 0) -> Tolerance:
        return self.tolerances[row] if len(self.tolerances) > 1 else self.tolerances[0]

    @property
    def exact(self) -> bool:
        return all(t.exact for t in self.tolerances)


def canonical(array: np.ndarray) -> np.ndarray:
    """The array with one bit pattern for every NaN: IEEE 754 leaves the payload open."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array)


def digest(array: np.ndarray) -> str:
    """A short name of the bits of an array."""
    array = canonical(array)
    return hashlib.sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes()).hexdigest()[:32]


def equal(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance = EXACT) -> np.ndarray:
    """Element by element: is it the value that was expected?"""
    if tolerance.exact or actual.dtype.kind not in "fc":
        if actual.dtype.kind == "f":
            bits = np.dtype(f"u{actual.dtype.itemsize}")
            return canonical(actual).view(bits) == canonical(expected).view(bits)
        return actual == expected
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        allowed = tolerance.absolute + tolerance.relative * np.abs(e) + tolerance.ulp * np.abs(np.spacing(np.abs(expected)).astype(np.float64))
        return (a == e) | (np.isnan(a) & np.isnan(e)) | (np.isfinite(a) & np.isfinite(e) & (np.abs(a - e) <= allowed))


def difference(case: Case, output: int, actual: np.ndarray, expected: np.ndarray) -> str | None:
    """None where the output is right, else one sentence naming the first element that isn't."""
    expected = np.asarray(expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{case.name}: argument {output} is {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    if case.rows:
        good = np.stack([equal(actual[row], expected[row], case.tolerance(row)) for row in range(len(case.rows))])
    else:
        good = equal(actual, expected, case.tolerance())
    bad = np.argwhere(~good)
    if not len(bad):
        return None
    index = tuple(int(i) for i in bad[0])
    where = f"{case.rows[index[0]]} at {index[1:]}" if case.rows else f"element {index}"
    got, want = actual[index], expected[index]
    return f"{case.name}: argument {output}, {where}: {got!r} instead of {want!r} ({len(bad)} of {good.size} differ)"
