"""Tables of operations: a kernel that applies each expression of a table to every row of operands, and NumPy's answer beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .case import EXACT, Case, Tolerance

CTYPES = {
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
    "__half": np.float16,
    "__nv_bfloat16": np.uint16,  # NumPy has no bfloat16: the bits
}


@dataclass(frozen=True)
class Row:
    """One operation: `code` is CUDA C over the operands a, b, c; `numpy` the same over arrays."""

    label: str
    code: str
    numpy: Callable[..., np.ndarray]
    tolerance: Tolerance = EXACT


def table(
    name: str,
    operands: tuple[str, ...],
    result: str,
    rows: list[Row],
    inputs: Callable[[], tuple[np.ndarray, ...]],
    preamble: str = "",
    options: tuple[str, ...] = (),
) -> Case:
    """One kernel for all rows. `operands` are C types of a, b, c; out[row][i] = code(a[i], b[i], c[i])."""
    names = "abcd"[: len(operands)]
    entry = name.replace(".", "_")
    parameters = "".join(f"const {ctype}* {letter.upper()}, " for ctype, letter in zip(operands, names, strict=True))
    loads = "".join(f"    {ctype} {letter} = {letter.upper()}[i];\n" for ctype, letter in zip(operands, names, strict=True))
    stores = "".join(f"    out[{k} * n + i] = ({result})({row.code});\n" for k, row in enumerate(rows))
    source = (
        f"{preamble}\n"
        f'extern "C" __global__ void {entry}({parameters}{result}* out, int n) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n{loads}{stores}}}\n"
    )
    dtype = np.dtype(CTYPES[result])

    def drawn(*arrays: np.ndarray) -> list:
        cast = [np.ascontiguousarray(array, dtype=CTYPES[ctype]) for array, ctype in zip(arrays, operands, strict=True)]
        return [*cast, np.zeros((len(rows), len(cast[0])), dtype), np.int32(len(cast[0]))]

    def expect(*args) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            return [np.stack([np.asarray(row.numpy(*args[: len(operands)])).astype(dtype) for row in rows])]

    size = len(inputs()[0])
    return Case(
        name=name,
        source=source,
        entry=entry,
        args=lambda: drawn(*inputs()),
        outputs=(len(operands),),
        expect=expect,
        grid=-(-size // 128),
        block=128,
        options=options,
        tolerances=tuple(row.tolerance for row in rows),
        rows=tuple(row.label for row in rows),
        drawn=drawn,
    )


def crossed(special: np.ndarray, operands: int, extra: int, seed: int, random: Callable[[np.random.Generator, int], np.ndarray]) -> tuple[np.ndarray, ...]:
    """Every pair of special values for the first two operands (a third cycles through them), then `extra` random rows."""
    rng = np.random.default_rng(seed)
    count = len(special)
    columns = [np.repeat(special, count), np.tile(special, count), np.tile(np.roll(special, 3), count)[rng.permutation(count * count)]]
    if operands == 1:
        return (np.concatenate([special, random(rng, extra)]),)
    return tuple(np.concatenate([column, random(rng, extra)]) for column in columns[:operands])
