"""Loads and stores of local memory, which belongs to one thread: bounds, counters, then the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .access import RAW, aligned, raw_bits, typed
from .memory import address_bounds
from .values import Split, Value, i64, ndarray, u32, u64

if TYPE_CHECKING:
    from .group import Group


def _local_index(g: Group, iid: int, address: Value, total: int, access: str) -> tuple[Value, Any, ndarray | None]:
    """(word index, part of the word, thread index, block index) for local accesses; out-of-bounds lanes are reported and sent to word 0 of the poison."""
    m = g.batch.machine
    if address.__class__ is Split:
        address = address.full()
    low, high = m.local_extent(g, iid, address_bounds(address)[0])
    lo, hi = address_bounds(address)
    if lo < low or hi + total > high:
        address = m.faults.local_out_of_bounds(g, iid, address, low, high, access, total)
        g.batch.local.reserve(total)  # where such an access lands, in a kernel that has no local memory
    if not aligned(address, min(total, 16)):
        m.faults.local_misaligned(g, iid, address, access, total)
    if g.cols is None:
        t = slice(None) if g.whole else g.rows
        if address.__class__ is int:
            return address, t, None
        return np.broadcast_to(address.view(i64) if address.dtype == u64 else address.astype(i64), g.shape), g.rows[:, None], g.block_columns
    address = np.full((g.n, 1), address, i64) if address.__class__ is int else np.broadcast_to(address.view(i64), (g.n, 1))
    return address, g.rows[:, None], g.block_columns


def load_local(g: Group, iid: int, address: Value, dtype: Any, size: int, vector: int, volatile: bool = False) -> Value:
    local = g.batch.local
    address, t, b = _local_index(g, iid, address, size * vector, "read")
    m = g.batch.machine
    m.counts[iid][0] += g.nwarps
    out = []
    for j in range(vector):
        at = address + j * size
        if size >= 4:
            bits = local.words[at >> 2, t] if b is None else local.words[at >> 2, t, b]
            if size == 8:
                high = local.words[(at >> 2) + 1, t] if b is None else local.words[(at >> 2) + 1, t, b]
                bits = bits.astype(u64) | high.astype(u64) << u64(32)
        else:
            word = local.words[at >> 2, t] if b is None else local.words[at >> 2, t, b]
            bits = (word >> u32((at & 3) * 8) if at.__class__ is int else word >> ((at & 3) * 8).astype(u32)).astype(RAW[size])
        if b is None:
            bits = np.array(bits)  # a copy: the register must not follow later stores
        out.append(typed(bits, dtype))
    return out[0] if vector == 1 else out


def store_local(g: Group, iid: int, address: Value, values: tuple, dtype: Any, size: int, volatile: bool = False) -> None:
    local = g.batch.local
    address, t, b = _local_index(g, iid, address, size * len(values), "write")
    m = g.batch.machine
    m.stores += 1
    m.counts[iid][0] += g.nwarps
    for j, value in enumerate(values):
        at = address + j * size
        bits = raw_bits(value, size)
        index = (at >> 2, t) if b is None else (at >> 2, t, b)
        if size == 4:
            local.words[index] = bits
        elif size == 8:
            low, high = (bits & 0xFFFFFFFF, bits >> 32) if bits.__class__ is int else (bits.astype(u32), (bits >> u64(32)).astype(u32))
            local.words[index] = low
            local.words[((at >> 2) + 1, *index[1:])] = high
        else:
            mask = (1 << 8 * size) - 1
            shift = u32((at & 3) * 8) if at.__class__ is int else ((at & 3) * 8).astype(u32)
            bits = u32(bits) if bits.__class__ is int else bits.astype(u32)
            local.words[index] = (local.words[index] & ~(u32(mask) << shift)) | ((bits & u32(mask)) << shift)
