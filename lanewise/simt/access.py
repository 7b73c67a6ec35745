"""Loads and stores: bounds, counters, checks, then the data. Called by generated code, one call for all lanes of a group."""

from __future__ import annotations

import numpy as np

from .memory import LOCAL_WINDOW, POISON, RANGE, SHARED_WINDOW, Allocation, Where, address_bounds, place
from .patterns import by_lane, sectors_of_full_warps, sectors_per_warp, wavefronts
from .values import Split, add64, i64, ndarray, u8, u16, u32, u64

RAW = {1: u8, 2: u16, 4: u32, 8: u64}
SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}

# ------------------------------------------------------------------------------------------------ global, constant and parameter memory


def load_global(g, iid: int, address, dtype, size: int, vector: int, counted: bool = True, volatile: bool = False):
    """`vector` elements of `size` bytes at `address` in every lane: one value, or a tuple. Integers come unsigned, floats as `dtype` says."""
    m = g.batch.machine
    lo, hi = address_bounds(address)
    a = m.memory.ranges.get(lo >> RANGE)
    total = size * vector
    if a is None or lo < a.base or hi + total > a.end or not _aligned(address, total):
        return _odd_load(m, g, iid, address, dtype, size, vector, counted, volatile)
    where = place(a.base, address, size)
    if counted and a.space == "global":
        _count_global(m, g, iid, a, address, total, "read_sectors")
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


def _plain(x):
    """A NumPy integer scalar as a Python int; floats stay NumPy scalars."""
    return x if x.dtype.kind == "f" else int(x)


def store_global(g, iid: int, address, values: tuple, dtype, size: int, counted: bool = True, volatile: bool = False) -> None:
    m = g.batch.machine
    lo, hi = address_bounds(address)
    a = m.memory.ranges.get(lo >> RANGE)
    total = size * len(values)
    if a is None or lo < a.base or hi + total > a.end or a.space != "global" or not _aligned(address, total):
        _odd_store(m, g, iid, address, values, dtype, size, counted, volatile)
        return
    where = place(a.base, address, size)
    if counted:
        _count_global(m, g, iid, a, address, total, "write_sectors")
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


def _aligned(address, total: int) -> bool:
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


def _count_global(m, g, iid: int, a: Allocation, address, total: int, touched: str) -> None:
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
        t, b, copies = address.view(i64)[:, 0], None, g.batch.B
    elif address.__class__ is Split and g.cols is None:
        t, b, copies = address.t[:, 0], address.b[0], 1
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
    starts = None if b is None else b + t0
    if b is None or ((starts & 31) == (starts[0] & 31)).all():
        start = t0 if b is None else int(starts[0])
        count, offsets = sector_pattern(m, g, relative, start & 31)
        if b is None:
            counts[1] += count * copies
            mark[offsets + ((start >> 5) - first)] = True
        else:
            counts[1] += count * len(starts)
            mark[offsets[:, None] + ((starts >> 5) - first)] = True
        return
    for phase in np.unique(starts & 31):
        some = starts[(starts & 31) == phase]
        count, offsets = sector_pattern(m, g, relative, int(phase))
        counts[1] += count * len(some)
        mark[offsets[:, None] + ((some >> 5) - first)] = True


def sector_pattern(m, g, relative: ndarray, phase: int):
    """(sectors of all warps of one block, distinct sector offsets) for addresses `relative` after a start at `phase` modulo 32."""
    key = (g.row_key, phase, relative.tobytes())
    got = m.sector_patterns.get(key)
    if got is None:
        moved = relative + phase
        got = m.sector_patterns[key] = (sectors_per_warp(moved, g.rows >> 5), np.unique(moved >> 5))
    return got


def _lanes_of(g, address):
    """Full addresses of all lanes as a 1-D int64 array."""
    if address.__class__ is int:
        return np.full(g.shape, address, i64).ravel()
    full = address.full() if address.__class__ is Split else address
    return np.broadcast_to(full.view(i64) if full.dtype == u64 else full.astype(i64), g.shape).ravel()


def _sort_out(m, g, iid: int, address, total: int, access: str):
    """Report lanes that are out of bounds, misaligned or nowhere; yield (allocation, lane indices, offsets) for the rest."""
    lanes = _lanes_of(g, address)
    ok = np.zeros(len(lanes), bool)
    groups = []
    ranges = lanes >> RANGE
    for key in np.unique(ranges):
        index = np.flatnonzero(ranges == key)
        a = m.memory.ranges.get(int(key))
        here = lanes[index]
        if a is None:
            if key in (SHARED_WINDOW >> RANGE, LOCAL_WINDOW >> RANGE):
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


def _odd_load(m, g, iid: int, address, dtype, size: int, vector: int, counted: bool, volatile: bool):
    """A load that isn't entirely in one allocation: lane by lane where it must be."""
    lanes, groups = _sort_out(m, g, iid, address, size * vector, "read")
    kind = np.dtype(dtype).kind
    poison = np.full(len(lanes), POISON[size], RAW[size])
    out = [(poison.view(dtype) if kind == "f" else poison).copy() for _ in range(vector)]
    for a, index, offsets in groups:
        if a.__class__ is int:
            sub = _lanes_group(g, index)
            for j, v in enumerate(_window_load(sub, iid, a, offsets, dtype, size, vector)):
                out[j][index] = v[:, 0] if v.__class__ is ndarray else v
            continue
        where = Where("array", 0, offsets[:, None], None, None, (len(index), 1), False)
        if counted and a.space == "global":
            sub = _lanes_group(g, index)
            _count_global(m, sub, iid, a, (offsets + a.base).view(u64)[:, None], size * vector, "read_sectors")
        if m.check and a.space == "global":
            sub = _lanes_group(g, index)
            if a.unset is not None:
                m.init.read(sub, iid, a, where, size, vector)
            if a.writable:
                m.races.load(sub, iid, a, where, size * vector, volatile)
        for j in range(vector):
            out[j][index] = a.view(dtype)[(offsets >> SHIFT[size]) + j]
    values = [x.reshape(g.shape) for x in out]
    return values[0] if vector == 1 else values


def _odd_store(m, g, iid: int, address, values: tuple, dtype, size: int, counted: bool, volatile: bool) -> None:
    total = size * len(values)
    _, groups = _sort_out(m, g, iid, address, total, "write")
    flat = [np.broadcast_to(v.full() if v.__class__ is Split else v, g.shape).ravel() for v in values]
    for a, index, offsets in groups:
        sub = _lanes_group(g, index)
        mine = tuple(f[index][:, None] for f in flat)
        if a.__class__ is int:
            _window_store(sub, iid, a, offsets, mine, dtype, size)
            continue
        store_global(sub, iid, (offsets + a.base).view(u64)[:, None], mine, dtype, size, counted, volatile)


def _lanes_group(g, index: ndarray):
    """Some lanes (numbers into the group's flattened lanes) as an irregular group without registers."""
    from .group import Group

    if g.cols is None:
        rows, cols = g.rows[index // g.batch.B], index % g.batch.B
    else:
        rows, cols = g.rows[index], g.cols[index]
    sub = Group(g.batch, rows, cols, g.pc, [], g.code)
    sub.pending = None
    return sub


def _window_load(sub, iid: int, window: int, addresses: ndarray, dtype, size: int, vector: int):
    """A generic load that turned out to be shared or local."""
    local = (addresses - (window << RANGE)).view(u64)[:, None]
    load = load_shared if window == SHARED_WINDOW >> RANGE else load_local
    values = load(sub, iid, local, dtype, size, vector)
    return [values] if vector == 1 else values


def _window_store(sub, iid: int, window: int, addresses: ndarray, values: tuple, dtype, size: int) -> None:
    local = (addresses - (window << RANGE)).view(u64)[:, None]
    store = store_shared if window == SHARED_WINDOW >> RANGE else store_local
    store(sub, iid, local, values, dtype, size)


def load_generic(g, iid: int, address, dtype, size: int, vector: int, counted: bool = True, volatile: bool = False):
    """A load through a generic pointer: which space it is shows in the address."""
    lo, hi = address_bounds(address)
    window = lo >> RANGE
    if window == hi >> RANGE and window << RANGE in (SHARED_WINDOW, LOCAL_WINDOW):
        load = load_shared if window << RANGE == SHARED_WINDOW else load_local
        return load(g, iid, add64(address, -(window << RANGE) & (1 << 64) - 1), dtype, size, vector, volatile)
    return load_global(g, iid, address, dtype, size, vector, counted, volatile)


def store_generic(g, iid: int, address, values: tuple, dtype, size: int, counted: bool = True, volatile: bool = False) -> None:
    lo, hi = address_bounds(address)
    window = lo >> RANGE
    if window == hi >> RANGE and window << RANGE in (SHARED_WINDOW, LOCAL_WINDOW):
        store = store_shared if window << RANGE == SHARED_WINDOW else store_local
        store(g, iid, add64(address, -(window << RANGE) & (1 << 64) - 1), values, dtype, size, volatile)
        return
    store_global(g, iid, address, values, dtype, size, counted, volatile)


# ------------------------------------------------------------------------------------------------ shared memory


class SharedPattern:
    """What is known about one set of shared addresses, the same in every block: worked out once."""

    __slots__ = ("key", "offsets", "low", "high", "aligned", "duplicates", "range", "_table", "_total", "_loads", "_stores")

    def __init__(self, key: int, offsets, rows: ndarray, total: int):
        self.key, self.offsets = key, offsets
        self.range = None  # words of the race check, see checks.shared
        if offsets.__class__ is int:
            self.low = self.high = offsets
            self.aligned = not offsets & (total - 1)
            self.duplicates = len(rows) > 1
            self._table = by_lane(np.full(len(rows), offsets, i64), rows >> 5, rows & 31)
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


def shared_pattern(m, g, address, total: int) -> SharedPattern | None:
    """The pattern of addresses that are the same in every block of a regular group; None for others."""
    if g.cols is not None:
        return None
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


def load_shared(g, iid: int, address, dtype, size: int, vector: int, volatile: bool = False, rows: bool = False):
    """`rows`: the access of ldmatrix, whose quarter warps never go together."""
    batch = g.batch
    m = batch.machine
    total = size * vector
    p = shared_pattern(m, g, address, total)
    if p is None:
        return _load_shared_each(g, iid, address, dtype, size, vector, rows)
    low, high = m.shared_extent(iid, p.low)
    if p.low < low or p.high + total > high or not p.aligned:
        return _load_shared_each(g, iid, address, dtype, size, vector, rows)
    _count_joined(m, g, iid, address, p.stores if rows else p.loads, not rows)
    if m.check:
        batch.shared_check.read(g, iid, p, total)
    memory = batch.shared
    if vector == 1:
        return _typed(memory.load(p.offsets, size, 0, None), dtype)
    return [_typed(memory.load(p.offsets, size, j, None), dtype) for j in range(vector)]


def _count_joined(m, g, iid: int, address, passes: int, load: bool) -> None:
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


def _typed(bits, dtype):
    """Unsigned bits as `dtype` (a float type reinterprets them)."""
    if bits.__class__ is int:
        return RAW[np.dtype(dtype).itemsize](bits).view(dtype) if np.dtype(dtype).kind == "f" else bits
    return bits if bits.dtype == dtype else bits.view(dtype)


def _bits(value, size: int):
    """The raw unsigned bits of a register."""
    if value.__class__ is Split:
        value = value.full()
    if value.__class__ is int:
        return value
    if value.__class__ is ndarray:
        return value.view(RAW[size]) if value.dtype.kind == "f" else value
    return int(value.view(RAW[size]))  # a NumPy float scalar


def store_shared(g, iid: int, address, values: tuple, dtype, size: int, volatile: bool = False) -> None:
    batch = g.batch
    m = batch.machine
    total = size * len(values)
    values = tuple(_bits(v, size) for v in values)
    p = shared_pattern(m, g, address, total)
    if p is not None:
        low, high = m.shared_extent(iid, p.low)
        if p.low < low or p.high + total > high or not p.aligned:
            p = None
    if p is None:
        _store_shared_each(g, iid, address, values, size)
        return
    _count_joined(m, g, iid, address, p.stores, False)
    if m.check:
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


def each_shared(g, iid: int, address, total: int, access: str):
    """Per-lane shared addresses: bounds and alignment reported; (lanes that may go on, their offsets, their columns, their group)."""
    m = g.batch.machine
    offsets = _lanes_of(g, address)
    columns = np.broadcast_to(g.block_columns, g.shape).ravel()
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


def _count_shared_each(m, g, iid: int, offsets: ndarray, total: int, load: bool) -> None:
    counts = m.counts[iid]
    counts[0] += g.nwarps
    warps = np.broadcast_to(g.warp_columns, g.shape).ravel()
    lanes = np.broadcast_to(g.lanes, g.shape).ravel()
    if g.whole and g.n % 32 == 0:
        table = offsets.reshape(-1, 32, offsets.size // g.n).transpose(0, 2, 1).reshape(-1, 32)
    else:
        table = by_lane(offsets, warps, lanes)
    counts[1] += wavefronts(table, total, load)


def _load_shared_each(g, iid: int, address, dtype, size: int, vector: int, rows: bool):
    batch = g.batch
    m = batch.machine
    total = size * vector
    index, offsets, columns = each_shared(g, iid, address, total, "read")
    shape = g.shape
    who = g if index is None else _lanes_group(g, index)
    if len(offsets):
        joined = m.program.sites[iid].joined
        if joined is None:
            _count_shared_each(m, who, iid, offsets, total, not rows)
        elif joined.bytes:
            _count_shared_each(m, who, iid, offsets - joined.back, joined.bytes, True)
        if m.check:
            batch.shared_check.read_each(who, iid, offsets, columns, total)
    values = []
    for j in range(vector):
        bits = batch.shared.load(offsets, size, j, columns) if len(offsets) else np.empty(0, RAW[size])
        if index is not None:
            all_bits = np.full(shape[0] * shape[1], POISON[size], RAW[size])
            all_bits[index] = bits
            bits = all_bits
        values.append(_typed(np.ascontiguousarray(bits).reshape(shape), dtype))
    return values[0] if vector == 1 else values


def _store_shared_each(g, iid: int, address, values: tuple, size: int) -> None:
    batch = g.batch
    m = batch.machine
    total = size * len(values)
    index, offsets, columns = each_shared(g, iid, address, total, "write")
    if not len(offsets):
        return
    who = g if index is None else _lanes_group(g, index)
    flat = [np.broadcast_to(v, g.shape).ravel() for v in values]
    if index is not None:
        flat = [f[index] for f in flat]
    joined = m.program.sites[iid].joined
    if joined is None:
        _count_shared_each(m, who, iid, offsets, total, False)
    elif joined.bytes:
        _count_shared_each(m, who, iid, offsets - joined.back, joined.bytes, False)
    if m.check:
        batch.shared_check.write_each(who, iid, offsets, columns, total, flat, size)
    m.stores += 1
    for j, value in enumerate(flat):
        batch.shared.store(offsets, size, j, columns, value)


# ------------------------------------------------------------------------------------------------ local memory


def _local_index(g, iid: int, address, total: int, access: str):
    """(word index, part of the word, thread index, block index) for local accesses; out-of-bounds lanes are reported and sent to word 0 of the poison."""
    m = g.batch.machine
    if address.__class__ is Split:
        address = address.full()
    low, high = m.local_extent(g, iid, address_bounds(address)[0])
    lo, hi = address_bounds(address)
    if lo < low or hi + total > high:
        address = m.faults.local_out_of_bounds(g, iid, address, low, high, access, total)
    if not _aligned(address, min(total, 16)):
        m.faults.local_misaligned(g, iid, address, access, total)
    if g.cols is None:
        t = slice(None) if g.whole else g.rows
        if address.__class__ is int:
            return address, t, None
        return np.broadcast_to(address.view(i64) if address.dtype == u64 else address.astype(i64), g.shape), g.rows[:, None], g.block_columns
    address = np.full((g.n, 1), address, i64) if address.__class__ is int else np.broadcast_to(address.view(i64), (g.n, 1))
    return address, g.rows[:, None], g.block_columns


def load_local(g, iid: int, address, dtype, size: int, vector: int, volatile: bool = False):
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
        out.append(_typed(bits, dtype))
    return out[0] if vector == 1 else out


def store_local(g, iid: int, address, values: tuple, dtype, size: int, volatile: bool = False) -> None:
    local = g.batch.local
    address, t, b = _local_index(g, iid, address, size * len(values), "write")
    m = g.batch.machine
    m.stores += 1
    m.counts[iid][0] += g.nwarps
    for j, value in enumerate(values):
        at = address + j * size
        bits = _bits(value, size)
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
