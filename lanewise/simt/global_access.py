"""Loads and stores of global, constant and parameter memory, and through generic pointers: bounds, counters, checks, then the data.

Called by generated code, one call for all lanes of a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .access import RAW, SHIFT, aligned, lanes_group, lanes_of
from .arithmetic import add64
from .local_access import load_local, store_local
from .memory import POISON, RANGE, SHARED_WINDOW, WINDOWS, Allocation, Where, address_bounds, place
from .patterns import sectors_of_full_warps, sectors_per_warp
from .shared_access import load_shared, store_shared
from .values import Split, Value, i64, ndarray, u64

if TYPE_CHECKING:
    from .group import Group
    from .machine import Machine


def load_global(g: Group, iid: int, address: Value, dtype: Any, size: int, vector: int, counted: bool = True, volatile: bool = False) -> Value:
    """`vector` elements of `size` bytes at `address` in every lane: one value, or a tuple. Integers come unsigned, floats as `dtype` says."""
    m = g.batch.machine
    lo, hi = address_bounds(address)
    a = m.memory.ranges.get(lo >> RANGE)
    total = size * vector
    if a is None or lo < a.base or hi + total > a.end or not aligned(address, total):
        return _odd_load(m, g, iid, address, dtype, size, vector, counted, volatile)
    where = place(a.base, address, size)
    if counted and a.space == "global":
        count_global(m, g, iid, a, address, total, "read_sectors")
    if m.check and a.space == "global":
        if a.unset is not None:
            m.init.read(g, iid, a, where, size, vector)
        if a.writable:
            m.races.load(g, iid, a, where, total, volatile)
    view, shift = a.view(dtype), SHIFT[size]
    if vector == 1:
        value = where.get(view, shift)
        return _plain(value) if where.kind == "uniform" else value
    values = [where.get(view, shift, j) for j in range(vector)]
    return [_plain(v) for v in values] if where.kind == "uniform" else values


def _plain(x: Value) -> Value:
    """A NumPy integer scalar as a Python int; floats stay NumPy scalars."""
    return x if x.dtype.kind == "f" else int(x)


def store_global(g: Group, iid: int, address: Value, values: tuple, dtype: Any, size: int, counted: bool = True, volatile: bool = False) -> None:
    m = g.batch.machine
    lo, hi = address_bounds(address)
    a = m.memory.ranges.get(lo >> RANGE)
    total = size * len(values)
    if a is None or lo < a.base or hi + total > a.end or a.space != "global" or not aligned(address, total):
        _odd_store(m, g, iid, address, values, dtype, size, counted, volatile)
        return
    where = place(a.base, address, size)
    if counted:
        count_global(m, g, iid, a, address, total, "write_sectors")
    view, shift = a.view(dtype), SHIFT[size]
    values = tuple(v.full() if v.__class__ is Split else v for v in values)
    if m.check:
        m.races.store(g, iid, a, where, total, volatile, values, view, shift)
        if a.unset is not None:
            m.init.write(a, where, size, len(values))
    m.stores += 1
    for j, value in enumerate(values):
        if where.kind == "array" and where.shape[1] == 1 and value.__class__ is ndarray and value.shape[1] > 1:
            value = value[:, -1:]  # every block stores to the same places: the last one stays
        elif value.__class__ is ndarray and where.shape[0] == 1 and value.shape[0] > 1:
            value = value[-1:]
        if where.kind == "strided" and value.__class__ is ndarray and where.shape[1] == 1 and value.shape[1] > 1:
            value = value[:, -1:]
        where.put(view, shift, value, j)


def count_global(m: Machine, g: Group, iid: int, a: Allocation, address: Value, total: int, touched: str) -> None:
    """Requests, sectors, and the sectors of the allocation that were touched at all."""
    counts = m.counts[iid]
    counts[0] += g.nwarps
    mark = getattr(a, touched)
    if mark is None:
        mark = np.zeros((len(a.data) + 63) // 32 + 1, bool)
        setattr(a, touched, mark)
    first = a.base >> 5
    if address.__class__ is int:
        counts[1] += g.nwarps
        mark[(address >> 5) - first] = True
        return
    if address.__class__ is ndarray and g.cols is None and address.shape[1] == 1 and len(address) > 1:
        t, b = address.view(i64)[:, 0], None
    elif address.__class__ is Split and g.cols is None:
        t, b = address.t[:, 0], address.b[0]
    else:
        full = (address.full() if address.__class__ is Split else address).view(i64)
        sectors = full >> 5
        mark[(sectors - first)] = True
        if full.shape[0] == 1 and g.n > 1:  # one address for all threads of a block
            counts[1] += g.nwarps
        elif g.whole and g.n % 32 == 0:
            counts[1] += sectors_of_full_warps(np.broadcast_to(full, g.shape).reshape(-1, 32, full.shape[1]))
        else:
            full = np.broadcast_to(full, g.shape)
            counts[1] += sectors_per_warp(full.ravel(), np.broadcast_to(g.warp_columns, g.shape).ravel())
        return
    t0 = int(t[0])
    relative = t - t0
    if b is None:
        count, offsets = sector_pattern(m, g, relative, t0 & 31)
        counts[1] += count * g.batch.B
        mark[offsets + ((t0 >> 5) - first)] = True
        return
    starts = b + t0
    phases = starts & 31
    alike = (phases == phases[0]).all()
    for phase in phases[:1] if alike else np.unique(phases):
        some = starts if alike else starts[phases == phase]
        count, offsets = sector_pattern(m, g, relative, int(phase))
        counts[1] += count * len(some)
        mark[offsets[:, None] + ((some >> 5) - first)] = True


def sector_pattern(m: Machine, g: Group, relative: ndarray, phase: int) -> tuple[int, ndarray]:
    """(sectors of all warps of one block, distinct sector offsets) for addresses `relative` after a start at `phase` modulo 32."""
    key = (g.row_key, phase, relative.tobytes())
    got = m.sector_patterns.get(key)
    if got is None:
        moved = relative + phase
        got = m.sector_patterns[key] = (sectors_per_warp(moved, g.rows >> 5), np.unique(moved >> 5))
    return got


def sort_out(m: Machine, g: Group, iid: int, address: Value, total: int, access: str) -> tuple[ndarray, list[tuple[Any, ndarray, ndarray]]]:
    """Report lanes that are out of bounds, misaligned or nowhere; yield (allocation, lane indices, offsets) for the rest."""
    lanes = lanes_of(g, address)
    ok = np.zeros(len(lanes), bool)
    groups: list[tuple[Any, ndarray, ndarray]] = []  # (allocation, or the number of a window; lanes; places)
    ranges = lanes >> RANGE
    for key in np.unique(ranges):
        index = np.flatnonzero(ranges == key)
        a = m.memory.ranges.get(int(key))
        here = lanes[index]
        if a is None:
            if key in WINDOWS:
                groups.append((int(key), index, here))
                continue
            m.faults.no_allocation(g, iid, index, here, access, total)
            continue
        inside = (here >= a.base) & (here + total <= a.end)
        if not inside.all():
            m.faults.out_of_bounds(g, iid, a, index[~inside], here[~inside], access, total)
        straight = (here & (total - 1)) == 0
        if not straight.all():
            bad = inside & ~straight
            if bad.any():
                m.faults.misaligned(g, iid, a, index[bad], here[bad], access, total)
        if access != "read" and a.space != "global":
            m.faults.read_only(g, iid, a, index[inside], here[inside], access)
            continue
        good = inside & straight
        if good.any():
            ok[index[good]] = True
            groups.append((a, index[good], here[good] - a.base))
    return lanes, groups


def _odd_load(m: Machine, g: Group, iid: int, address: Value, dtype: Any, size: int, vector: int, counted: bool, volatile: bool) -> Value:
    """A load that isn't entirely in one allocation: lane by lane where it must be."""
    lanes, groups = sort_out(m, g, iid, address, size * vector, "read")
    kind = np.dtype(dtype).kind
    poison = np.full(len(lanes), POISON[size], RAW[size])
    out = [(poison.view(dtype) if kind == "f" else poison).copy() for _ in range(vector)]
    for a, index, offsets in groups:
        if a.__class__ is int:
            sub = lanes_group(g, index)
            for j, v in enumerate(_window_load(sub, iid, a, offsets, dtype, size, vector)):
                out[j][index] = v[:, 0] if v.__class__ is ndarray else v
            continue
        where = Where("array", 0, offsets[:, None], None, None, (len(index), 1), False)
        if counted and a.space == "global":
            sub = lanes_group(g, index)
            count_global(m, sub, iid, a, (offsets + a.base).view(u64)[:, None], size * vector, "read_sectors")
        if m.check and a.space == "global":
            sub = lanes_group(g, index)
            if a.unset is not None:
                m.init.read(sub, iid, a, where, size, vector)
            if a.writable:
                m.races.load(sub, iid, a, where, size * vector, volatile)
        for j in range(vector):
            out[j][index] = a.view(dtype)[(offsets >> SHIFT[size]) + j]
    values = [x.reshape(g.shape) for x in out]
    return values[0] if vector == 1 else values


def _odd_store(m: Machine, g: Group, iid: int, address: Value, values: tuple, dtype: Any, size: int, counted: bool, volatile: bool) -> None:
    total = size * len(values)
    _, groups = sort_out(m, g, iid, address, total, "write")
    flat = [np.broadcast_to(v.full() if v.__class__ is Split else v, g.shape).ravel() for v in values]
    for a, index, offsets in groups:
        sub = lanes_group(g, index)
        mine = tuple(f[index][:, None] for f in flat)
        if a.__class__ is int:
            _window_store(sub, iid, a, offsets, mine, dtype, size)
            continue
        store_global(sub, iid, (offsets + a.base).view(u64)[:, None], mine, dtype, size, counted, volatile)


def _window_load(sub: Group, iid: int, window: int, addresses: ndarray, dtype: Any, size: int, vector: int) -> list:
    """A generic load that turned out to be shared or local."""
    local = (addresses - WINDOWS[window]).view(u64)[:, None]
    load = load_shared if window == SHARED_WINDOW >> RANGE else load_local
    with _Window(sub.batch.machine, iid, window):
        values = load(sub, iid, local, dtype, size, vector)
    return [values] if vector == 1 else values


def _window_store(sub: Group, iid: int, window: int, addresses: ndarray, values: tuple, dtype: Any, size: int) -> None:
    local = (addresses - WINDOWS[window]).view(u64)[:, None]
    store = store_shared if window == SHARED_WINDOW >> RANGE else store_local
    with _Window(sub.batch.machine, iid, window):
        store(sub, iid, local, values, dtype, size)


class _Window:
    """While a generic access goes to shared or local memory, its instruction's counts aren't those of global memory."""

    def __init__(self, m: Machine, iid: int, window: int):
        self.m, self.iid = m, iid
        self.of_global = m.counts[iid]
        self.here = m.generic_shared.setdefault(iid, [0, 0]) if window == SHARED_WINDOW >> RANGE else [0, 0]

    def __enter__(self) -> None:
        self.m.counts[self.iid] = self.here

    def __exit__(self, *error: object) -> None:
        self.m.counts[self.iid] = self.of_global


def load_generic(g: Group, iid: int, address: Value, dtype: Any, size: int, vector: int, counted: bool = True, volatile: bool = False) -> Value:
    """A load through a generic pointer: which space it is shows in the address."""
    lo, hi = address_bounds(address)
    window = lo >> RANGE
    if window == hi >> RANGE and window in WINDOWS:
        load = load_shared if window == SHARED_WINDOW >> RANGE else load_local
        with _Window(g.batch.machine, iid, window):
            return load(g, iid, add64(address, -WINDOWS[window] & (1 << 64) - 1), dtype, size, vector, volatile)
    return load_global(g, iid, address, dtype, size, vector, counted, volatile)


def store_generic(g: Group, iid: int, address: Value, values: tuple, dtype: Any, size: int, counted: bool = True, volatile: bool = False) -> None:
    lo, hi = address_bounds(address)
    window = lo >> RANGE
    if window == hi >> RANGE and window in WINDOWS:
        store = store_shared if window == SHARED_WINDOW >> RANGE else store_local
        with _Window(g.batch.machine, iid, window):
            store(g, iid, add64(address, -WINDOWS[window] & (1 << 64) - 1), values, dtype, size, volatile)
        return
    store_global(g, iid, address, values, dtype, size, counted, volatile)
