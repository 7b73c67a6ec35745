"""What a sequence of read-modify-write operations does to memory: one lane after the other, computed for all lanes at once.

The lanes are given in the order in which they take effect. Lanes that name different cells don't see each other; those that name one cell form a
segment, and each sees what its predecessors left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..values import f16, ndarray, u16
from .half import FORMATS, OPERATIONS

UFUNCS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


# The new value of a cell that holds x; halves are bits, as u16.
NEW: dict[str, Callable] = {
    **UFUNCS,
    "inc": lambda x, b: np.where(x >= b, x.dtype.type(0), x + x.dtype.type(1)),
    "dec": lambda x, b: np.where((x == 0) | (x > b), b, x - x.dtype.type(1)),
    "exch": lambda x, b: b,
    "cas": lambda x, expected, b: np.where(x == expected, b, x),
    **{f"{op}.{type}": partial(OPERATIONS[op], form) for type, form in FORMATS.items() for op in ("add", "min", "max")},
}  # fmt: skip


def update(cells: ndarray, index: int | ndarray, op: str, operands: tuple, count: int, wanted: bool) -> ndarray | None:
    """Apply `op` to `cells[index]` (1-D, changed in place) lane after lane; returns what each of the `count` lanes saw, or None if not `wanted`.

    `index` is an int (one cell for all lanes) or an int64 array; operands are scalars of the cells' dtype, or arrays of one value a lane.
    """
    if not wanted and op in UFUNCS:
        _in_bulk(cells, index, op, operands[0], count)
        return None
    if index.__class__ is int:
        if count == 1:
            index = np.array([index])
        else:
            return _one_after_the_other(cells, np.array([index]), np.array([0]), op, operands, count)
    assert isinstance(index, ndarray)
    if count == 1 or (index[1:] > index[:-1]).all():
        return _at_once(cells, index, op, operands)
    order = np.argsort(index, kind="stable")
    addresses = index[order]
    starts = np.flatnonzero(np.concatenate(([True], addresses[1:] != addresses[:-1])))
    if len(starts) == count:
        return _at_once(cells, index, op, operands)
    operands = tuple(b[order] if np.ndim(b) else b for b in operands)
    seen = np.empty(count, cells.dtype)
    seen[order] = _one_after_the_other(cells, addresses[starts], starts, op, operands, count)
    return seen


def _in_bulk(cells: ndarray, index: int | ndarray, op: str, b, count: int) -> None:
    ufunc = UFUNCS[op]
    if index.__class__ is not int:
        ufunc.at(cells, index, b)  # in order: a sum of floats is rounded after every lane, as here
    elif cells.dtype.kind == "f":
        cells[index] = np.add.accumulate(np.concatenate((cells[index : index + 1], np.broadcast_to(b, (count,)))))[-1]
    elif np.ndim(b):
        cells[index] = ufunc(cells[index], ufunc.reduce(b, dtype=cells.dtype))
    elif op == "add":
        cells[index] += cells.dtype.type(count & (1 << 8 * cells.itemsize - 1) - 1) * b
    elif op == "xor":
        cells[index] ^= b if count % 2 else cells.dtype.type(0)
    else:
        cells[index] = ufunc(cells[index], b)


def _at_once(cells: ndarray, index: ndarray, op: str, operands: tuple) -> ndarray:
    """Every lane has a cell of its own."""
    seen = cells[index]
    cells[index] = NEW[op](seen, *operands)
    return seen


def _one_after_the_other(cells: ndarray, at: ndarray, starts: ndarray, op: str, operands: tuple, count: int) -> ndarray:
    """Lanes sorted by cell: segment s begins at `starts[s]` and works on `cells[at[s]]`. Returns what each lane saw."""
    sizes = np.diff(np.append(starts, count))
    first = cells[at]
    b = operands[-1]
    last = starts + sizes - 1
    if op == "exch":
        seen = np.empty(count, cells.dtype)
        seen[1:] = b[:-1] if np.ndim(b) else b
        seen[starts] = first
        cells[at] = b[last] if np.ndim(b) else b
        return seen
    if op == "add" and cells.dtype.kind in "iu":
        if np.ndim(b):
            before = np.cumsum(b, dtype=cells.dtype) - b
            before -= np.repeat(before[starts], sizes)
        else:
            before = (np.arange(count) - np.repeat(starts, sizes)).astype(cells.dtype) * b
        seen = np.repeat(first, sizes) + before
        cells[at] = seen[last] + (b[last] if np.ndim(b) else b)
        return seen
    if op == "cas":
        return _compare_and_swap(cells, at, starts, sizes, first, *(np.broadcast_to(x, (count,)) for x in operands))
    if op in ("inc", "dec") and (np.ndim(b) == 0 or (b == b[0]).all()):
        limit = int(b if np.ndim(b) == 0 else b[0])
        rank = np.arange(count) - np.repeat(starts, sizes)
        cells[at] = _counted(op, first.astype(np.int64), limit, sizes)
        return _counted(op, np.repeat(first, sizes).astype(np.int64), limit, rank).astype(cells.dtype)
    operands = tuple(np.broadcast_to(x, (count,)) for x in operands)
    accumulates = op in UFUNCS or op == "add.f16"
    if accumulates and len(at) < int(sizes.max()):
        return _cell_by_cell(cells, at, starts, sizes, op, operands[0])
    return _rank_by_rank(cells, at, starts, sizes, op, operands)


def _counted(op: str, x: ndarray, limit: int, times) -> ndarray:
    """A cell that held x after `times` increments (decrements) that wrap at `limit`. An x beyond the limit goes to 0 (to the limit) first."""
    if op == "inc":
        beyond = np.where(times == 0, x, (times - 1) % (limit + 1))
        return np.where(x <= limit, (x + times) % (limit + 1), beyond)
    beyond = np.where(times == 0, x, (limit - (times - 1)) % (limit + 1))
    return np.where(x <= limit, (x - times) % (limit + 1), beyond)


def _compare_and_swap(cells: ndarray, at: ndarray, starts: ndarray, sizes: ndarray, first: ndarray, expected: ndarray, b: ndarray) -> ndarray:
    """From one swap that changes a cell to the next; there are usually few."""
    now = first.copy()
    segment = np.repeat(np.arange(len(at)), sizes)
    seen = now[segment]
    position = np.arange(len(segment))
    after = starts.copy()  # the first lane of each segment that sees `now`
    changes = expected != b
    while True:
        hits = np.flatnonzero(changes & (expected == seen) & (position >= after[segment]))
        if not len(hits):
            break
        which, earliest = np.unique(segment[hits], return_index=True)
        swap = hits[earliest]
        now[which] = b[swap]
        after[which] = swap + 1
        seen = np.where(position >= after[segment], now[segment], seen)
    cells[at] = now
    return seen


def _cell_by_cell(cells: ndarray, at: ndarray, starts: ndarray, sizes: ndarray, op: str, b: ndarray) -> ndarray:
    half = op == "add.f16"
    ufunc, dtype = (np.add, f16) if half else (UFUNCS[op], cells.dtype)
    seen = np.empty(len(b), cells.dtype)
    for cell, start, size in zip(at.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        values = np.concatenate((cells[cell : cell + 1], b[start : start + size]))
        states = ufunc.accumulate(values.view(dtype), dtype=dtype)
        bits = states.view(cells.dtype)
        if half:
            bits[1:][np.isnan(states[1:])] = u16(0x7FFF)
        seen[start : start + size] = bits[:-1]
        cells[cell] = bits[-1]
    return seen


def _rank_by_rank(cells: ndarray, at: ndarray, starts: ndarray, sizes: ndarray, op: str, operands: tuple) -> ndarray:
    """All first lanes of the segments, then all second ones, …"""
    seen = np.empty(len(operands[0]), cells.dtype)
    new = NEW[op]
    by_size = np.argsort(-sizes, kind="stable")
    at, starts, sizes = at[by_size], starts[by_size], sizes[by_size]
    now = cells[at]
    alive = np.searchsorted(-sizes, -np.arange(int(sizes[0])), side="left")  # segments with more than r lanes
    for rank, k in enumerate(alive.tolist()):
        lanes = starts[:k] + rank
        seen[lanes] = now[:k]
        now[:k] = new(now[:k], *(x[lanes] for x in operands))
    cells[at] = now
    return seen
