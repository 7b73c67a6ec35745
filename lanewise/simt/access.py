"""What loads and stores of every space share: the bits of registers, alignment, lanes as groups of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .group import Group
from .values import MASK, Split, Value, i64, ndarray, u8, u16, u32, u64

RAW: dict[int, Any] = {1: u8, 2: u16, 4: u32, 8: u64}
SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}


def typed(bits: Value, dtype: Any) -> Value:
    """Unsigned bits as `dtype` (a float type reinterprets them)."""
    if bits.__class__ is int:
        return RAW[np.dtype(dtype).itemsize](bits).view(dtype) if np.dtype(dtype).kind == "f" else bits
    return bits if bits.dtype == dtype else bits.view(dtype)


def raw_bits(value: Value, size: int) -> Value:
    """The raw unsigned bits of a register."""
    if value.__class__ is Split:
        value = value.full()
    if value.__class__ is int:
        return value
    if value.__class__ is ndarray:
        return value.view(RAW[size]) if value.dtype.kind == "f" else value
    return int(value.view(RAW[size]))  # a NumPy float scalar


def aligned(address: Value, total: int) -> bool:
    if total == 1:
        return True
    low = total - 1
    if address.__class__ is int:
        return not address & low
    if address.__class__ is Split:
        if not ((np.bitwise_or.reduce(address.t, axis=None) | np.bitwise_or.reduce(address.b, axis=None)) & low):
            return True
        return not (np.bitwise_or.reduce(address.t + address.b, axis=None) & low)
    return not (int(np.bitwise_or.reduce(address, axis=None)) & low)


def lanes_of(g: Group, address: Value) -> ndarray:
    """Full addresses of all lanes as a 1-D int64 array."""
    if address.__class__ is int:
        return np.full(g.shape, address & MASK[64], u64).view(i64).ravel()
    full = address.full() if address.__class__ is Split else address
    return np.broadcast_to(full.view(i64) if full.dtype == u64 else full.astype(i64), g.shape).ravel()


def lanes_group(g: Group, index: ndarray) -> Group:
    """Some lanes (numbers into the group's flattened lanes) as an irregular group without registers."""
    if g.cols is None:
        rows, cols = g.rows[index // g.batch.B], index % g.batch.B
    else:
        rows, cols = g.rows[index], g.cols[index]
    return Group(g.batch, rows, cols, g.pc, [], g.code)
