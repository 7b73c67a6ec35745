"""Loads and stores of shared memory: bounds, bank conflicts, checks, then the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import clusters
from .access import RAW, lanes_group, lanes_of, raw_bits, typed
from .arithmetic import add64
from .memory import POISON
from .patterns import by_lane, wavefronts
from .values import Split, Value, i64, ndarray

if TYPE_CHECKING:
    from .group import Group
    from .machine import Machine


class SharedPattern:
    """What is known about one set of shared addresses, the same in every block: worked out once."""

    __slots__ = ("key", "offsets", "low", "high", "aligned", "duplicates", "range", "_table", "_total", "_loads", "_stores")

    def __init__(self, key: int, offsets: Any, rows: ndarray, total: int):
        self.key, self.offsets = key, offsets
        self.range = None  # words of the race check, see checks.shared
        if offsets.__class__ is int:
            self.low = self.high = offsets
            self.aligned = not offsets & (total - 1)
            self.duplicates = len(rows) > 1
            self._table: ndarray | None = by_lane(np.full(len(rows), min(offsets, 1 << 62), i64), rows >> 5, rows & 31)
        else:
            self.low, self.high = int(offsets.min()), int(offsets.max())
            self.aligned = not (int(np.bitwise_or.reduce(offsets)) & (total - 1))
            self.duplicates = len(np.unique(offsets)) < len(offsets)
            self._table = by_lane(offsets, rows >> 5, rows & 31) if self.low >= 0 else None
        self._total = total
        self._loads = self._stores = -1

    @property
    def loads(self) -> int:
        """Wavefronts of a load from these addresses."""
        if self._loads < 0:
            self._loads = wavefronts(self._table, self._total, True) if self._table is not None else 0
        return self._loads

    @property
    def stores(self) -> int:
        """Wavefronts of a store to them."""
        if self._stores < 0:
            self._stores = wavefronts(self._table, self._total, False) if self._table is not None else 0
        return self._stores


def shared_pattern(m: Machine, g: Group, address: Value, total: int) -> SharedPattern | None:
    """The pattern of addresses that are the same in every block of a regular group; None for others."""
    if g.cols is not None:
        return None
    offsets: Any
    if address.__class__ is int:
        key = (g.row_key, address, total)
        offsets = address
    else:
        if address.__class__ is Split:
            b = address.b
            if b.shape[1] > 1 and not (b == b[0, 0]).all():
                return None
            offsets = address.t[:, 0] + int(b[0, 0])
        elif address.shape[1] == 1 or g.batch.B == 1:
            offsets = address[:, 0]
            if len(offsets) < g.n:
                return shared_pattern(m, g, int(offsets[0]), total)
        else:
            return None
        key = (g.row_key, offsets.tobytes(), total)
    got = m.shared_patterns.get(key)
    if got is None:
        if offsets.__class__ is ndarray:
            offsets = offsets.astype(i64)
        got = m.shared_patterns[key] = SharedPattern(len(m.shared_patterns), offsets, g.rows, total)
    return got


def load_shared(g: Group, iid: int, address: Value, dtype: Any, size: int, vector: int, volatile: int = 0, rows: bool = False) -> Value:
    """`rows`: the access of ldmatrix, whose quarter warps never go together. `volatile`: 1, or 2 for relaxed and acquire, which are atomic here too."""
    batch = g.batch
    m = batch.machine
    total = size * vector
    p = shared_pattern(m, g, address, total)
    how = "strong" if volatile == 2 else "read"
    if p is None:
        return _load_shared_each(g, iid, address, dtype, size, vector, rows, how)
    low, high = m.shared_extent(iid, p.low)
    if p.low < low or p.high + total > high or not p.aligned:
        return _load_shared_each(g, iid, address, dtype, size, vector, rows, how)
    _count_joined(m, g, iid, address, p.stores if rows else p.loads, not rows)
    if m.check:
        batch.shared_check.read(g, iid, p, total, how)
    memory = batch.shared
    if vector == 1:
        return typed(memory.load(p.offsets, size, 0, None), dtype)
    return [typed(memory.load(p.offsets, size, j, None), dtype) for j in range(vector)]


def _count_joined(m: Machine, g: Group, iid: int, address: Value, passes: int, load: bool) -> None:
    """Requests and wavefronts of an access whose addresses are the same in every block: its own, or those of the access that ptxas joins it to."""
    counts, joined = m.counts[iid], m.program.sites[iid].joined
    if joined is not None:
        if not joined.bytes:
            return
        whole = shared_pattern(m, g, add64(address, -joined.back & (1 << 64) - 1) if joined.back else address, joined.bytes)
        assert whole is not None
        passes = whole.loads if load else whole.stores
    counts[0] += g.nwarps
    counts[1] += passes * g.batch.B


def store_shared(g: Group, iid: int, address: Value, values: tuple, dtype: Any, size: int, volatile: int = 0) -> None:
    batch = g.batch
    m = batch.machine
    total = size * len(values)
    values = tuple(raw_bits(v, size) for v in values)
    p = shared_pattern(m, g, address, total)
    if p is not None:
        low, high = m.shared_extent(iid, p.low)
        if p.low < low or p.high + total > high or not p.aligned:
            p = None
    if p is None:
        _store_shared_each(g, iid, address, values, size, volatile == 2)
        return
    _count_joined(m, g, iid, address, p.stores, False)
    if m.check and volatile == 2:
        batch.shared_check.atomic(g, iid, p, total, False)
    elif m.check:
        batch.shared_check.write(g, iid, p, total, values, size)
    memory = batch.shared
    m.stores += 1
    for j, value in enumerate(values):
        if value.__class__ is ndarray and p.offsets.__class__ is int and value.shape[0] > 1:
            value = value[-1:]
        if value.__class__ is ndarray and p.offsets.__class__ is int:
            value = value[0]
            memory.store(p.offsets, size, j, None, value if len(value) > 1 else int(value[0]))
        else:
            memory.store(p.offsets, size, j, None, value)


def each_shared(g: Group, iid: int, address: Value, total: int, access: str) -> tuple[ndarray | None, ndarray, ndarray]:
    """Per-lane shared addresses: bounds and alignment reported; (lanes that may go on, their offsets, their columns, their group)."""
    m = g.batch.machine
    offsets, columns = clusters.local(g.batch, lanes_of(g, address), np.broadcast_to(g.block_columns, g.shape).ravel())
    low, high = m.shared_extent(iid, int(offsets.min()))
    inside = (offsets >= low) & (offsets + total <= high)
    if not inside.all() and not m.knows_shared(iid):
        inside = m.inside_shared(offsets, total)
    straight = (offsets & (total - 1)) == 0
    good = inside & straight
    if good.all():
        return None, offsets, columns
    if not inside.all():
        index = np.flatnonzero(~inside)
        m.faults.shared_out_of_bounds(g, iid, index, offsets[index], access, total)
    if (inside & ~straight).any():
        index = np.flatnonzero(inside & ~straight)
        m.faults.shared_misaligned(g, iid, index, offsets[index], access, total)
    index = np.flatnonzero(good)
    return index, offsets[index], columns[index]


def _count_shared_each(m: Machine, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, load: bool) -> None:
    """Of lanes that go to their own block's memory: what other blocks of the cluster have isn't counted as shared memory."""
    if m.cluster > 1:
        own = np.flatnonzero(columns == np.broadcast_to(g.block_columns, g.shape).ravel())
        if len(own) < len(offsets):
            if not len(own):
                return
            g, offsets = lanes_group(g, own), offsets[own]
    counts = m.counts[iid]
    counts[0] += g.nwarps
    warps = np.broadcast_to(g.warp_columns, g.shape).ravel()
    lanes = np.broadcast_to(g.lanes, g.shape).ravel()
    if g.whole and g.n % 32 == 0:
        table = offsets.reshape(-1, 32, offsets.size // g.n).transpose(0, 2, 1).reshape(-1, 32)
    else:
        table = by_lane(offsets, warps, lanes)
    counts[1] += wavefronts(table, total, load)


def _load_shared_each(g: Group, iid: int, address: Value, dtype: Any, size: int, vector: int, rows: bool, how: str) -> Value:
    batch = g.batch
    m = batch.machine
    total = size * vector
    index, offsets, columns = each_shared(g, iid, address, total, "read")
    shape = g.shape
    who = g if index is None else lanes_group(g, index)
    if len(offsets):
        joined = m.program.sites[iid].joined
        if joined is None:
            _count_shared_each(m, who, iid, offsets, columns, total, not rows)
        elif joined.bytes:
            _count_shared_each(m, who, iid, offsets - joined.back, columns, joined.bytes, True)
        if m.check:
            batch.shared_check.read_each(who, iid, offsets, columns, total, how)
    values = []
    for j in range(vector):
        bits = batch.shared.load(offsets, size, j, columns) if len(offsets) else np.empty(0, RAW[size])
        if index is not None:
            all_bits = np.full(shape[0] * shape[1], POISON[size], RAW[size])
            all_bits[index] = bits
            bits = all_bits
        values.append(typed(np.ascontiguousarray(bits).reshape(shape), dtype))
    return values[0] if vector == 1 else values


def _store_shared_each(g: Group, iid: int, address: Value, values: tuple, size: int, atomic: bool) -> None:
    batch = g.batch
    m = batch.machine
    total = size * len(values)
    index, offsets, columns = each_shared(g, iid, address, total, "write")
    if not len(offsets):
        return
    who = g if index is None else lanes_group(g, index)
    flat = [np.broadcast_to(v, g.shape).ravel() for v in values]
    if index is not None:
        flat = [f[index] for f in flat]
    joined = m.program.sites[iid].joined
    if joined is None:
        _count_shared_each(m, who, iid, offsets, columns, total, False)
    elif joined.bytes:
        _count_shared_each(m, who, iid, offsets - joined.back, columns, joined.bytes, False)
    if m.check and atomic:
        batch.shared_check.atomic_each(who, iid, offsets, columns, total, False)
    elif m.check:
        batch.shared_check.write_each(who, iid, offsets, columns, total, flat, size)
    m.stores += 1
    for j, value in enumerate(flat):
        batch.shared.store(offsets, size, j, columns, value)
