"""The order in which the lanes of one atomic instruction take effect: block by block, within a block thread by thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..shapes import scalar
from ..values import UNSIGNED, Value, f32, f64, full, ndarray, u16, u32
from .read_modify_write import update

if TYPE_CHECKING:
    from ..group import Group
    from .atomic import Operation


def in_order(g: Group, x: Value) -> Value:
    """A value as one number a lane, in the order in which the lanes take effect; scalars stay."""
    x = full(x)
    if x.__class__ is not ndarray:
        return x
    if g.cols is None:
        return np.broadcast_to(x, g.shape).T.ravel()
    return np.broadcast_to(x, g.shape)[_order(g), 0]


def _order(g: Group) -> ndarray:
    """Of an irregular group."""
    order = g._cache.get("block by block")
    if order is None:
        order = g._cache["block by block"] = np.lexsort((g.rows, np.asarray(g.cols)))
    return order


def _back(g: Group, seen: ndarray) -> Value:
    """The opposite: a register's value."""
    if g.cols is None:
        return result_of(np.ascontiguousarray(seen.reshape(g.batch.B, g.n).T))
    out = np.empty((g.n, 1), seen.dtype)
    out[_order(g), 0] = seen
    return result_of(out)


def result_of(x: ndarray) -> Value:
    """A register's value: a scalar where one lane is all."""
    return scalar(x) if x.shape == (1, 1) else x


def apply(g: Group, cells: ndarray, index: Value, operands: tuple, j: int, o: Operation) -> Value:
    """Element j of every lane. `index`: a number, or one a lane in order; in 16-bit cells for packed halves."""
    count = g.nlanes
    values = [in_order(g, operand[j]) for operand in operands]
    before = cells[index] if o.wanted else None  # a failed compare-and-swap stores nothing: whoever waits for it still waits
    result = _applied(g, cells, index, values, count, o)
    if before is None or np.any(cells[index] != before):
        g.batch.machine.stores += 1
    return result


def _applied(g: Group, cells: ndarray, index: Value, values: list, count: int, o: Operation) -> Value:
    if not o.packed:
        seen = update(cells, index, o.name, tuple(as_cell(x, o.dtype, o.size) for x in values), count, o.wanted)
        if seen is None:
            return None
        return _back(g, seen if seen.dtype.kind in "uf" else seen.view(UNSIGNED[8 * o.size]))
    low, high = (update(cells, index + k, o.name, tuple(_half(x, k) for x in values), count, o.wanted) for k in (0, 1))
    return None if low is None or high is None else _back(g, low.astype(u32) | high.astype(u32) << u32(16))


def as_cell(x: Value, dtype: Any, size: int) -> Value:
    """A register's value as a scalar or an array of the cells' dtype."""
    if dtype in (f32, f64):
        return x if x.__class__ is ndarray else dtype(x)
    unsigned = UNSIGNED[8 * size]
    x = unsigned(x) if x.__class__ is int else x if x.dtype == unsigned else x.astype(unsigned)
    return x.view(dtype)


def _half(x: Value, k: int) -> Value:
    return u16(x >> 16 * k & 0xFFFF) if x.__class__ is int else (x >> u32(16 * k)).astype(u16)
