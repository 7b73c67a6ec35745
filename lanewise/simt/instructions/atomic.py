"""atom and red: read-modify-write operations on global, shared and generic addresses (PTX ISA 9.7.13, "atom", "red").

The lanes of one instruction take effect block by block, within a block thread by thread; another schedule permutes the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import access, global_access, local_access, shared_access
from ..arithmetic import add64
from ..codegen import Emitter, vector, width_of
from ..fpmode import flushed
from ..group import Group
from ..memory import POISON, RANGE, SHARED_WINDOW, WINDOWS, Allocation, address_bounds, place
from ..ptx import Instruction, Reg
from ..values import SIGNED, UNSIGNED, Value, f32, f64, full, i64, ndarray, u16, u32, u64
from .lane_order import apply, as_cell, in_order, result_of
from .memory import address_text, define_where, fence_of, space_of
from .read_modify_write import NEW

OPERATIONS = ("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas")
HALVES = {"f16": "f16", "f16x2": "f16", "bf16": "bf16", "bf16x2": "bf16"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One atom or red instruction. `name` as `read_modify_write.update` knows it; `dtype` of the cells it works on."""

    name: str
    space: str  # global, shared or generic
    dtype: Any
    size: int  # bytes of an element
    items: int  # elements of a vector
    packed: bool  # an element is two halves, updated one by one
    wanted: bool  # the old values are used

    @property
    def total(self) -> int:
        return self.size * self.items

    @property
    def reads(self) -> bool:
        """Whether it matters what was there before: an exchange whose result nobody uses is a store."""
        return self.wanted or self.name != "exch"


def atomic(g: Group, iid: int, address: Value, operands: tuple, o: Operation) -> Any:
    """`operands`: per operand of the PTX, the elements of its vector. Returns what every lane saw, per element; None for a red."""
    g.batch.machine.atomics += g.nlanes
    if o.space == "shared":
        return _shared(g, iid, address, operands, o)
    lo, hi = address_bounds(address)
    window = lo >> RANGE
    if window == hi >> RANGE and window in WINDOWS:
        return _in_window(g, iid, window, address, operands, o)
    m = g.batch.machine
    a = m.memory.ranges.get(window)
    if a is None or lo < a.base or hi + o.total > a.end or a.space != "global" or not access.aligned(address, o.total):
        return _lanes_apart(g, iid, address, operands, o)
    return _global(g, iid, a, address, operands, o)


def _in_window(g: Group, iid: int, window: int, address: Value, operands: tuple, o: Operation) -> Any:
    """A generic address of shared or local memory."""
    inside = add64(address, -WINDOWS[window] & (1 << 64) - 1)
    return (_shared if window == SHARED_WINDOW >> RANGE else _local)(g, iid, inside, operands, o)


def _lanes_apart(g: Group, iid: int, address: Value, operands: tuple, o: Operation) -> Any:
    """Addresses that aren't all good places of one allocation: what can't be done is reported, the rest done."""
    m = g.batch.machine
    lanes, groups = global_access.sort_out(m, g, iid, address, o.total, "atomic")
    bits = UNSIGNED[8 * o.size]
    seen = [np.full(len(lanes), POISON[o.size], bits) for _ in range(o.items)]
    flat = [[_every_lane(g, x) for x in operand] for operand in operands]
    for a, index, offsets in groups:
        sub = access.lanes_group(g, index)
        mine = tuple(tuple(x if np.ndim(x) == 0 else x[index][:, None] for x in operand) for operand in flat)
        window = a.__class__ is int
        there = (offsets if window else offsets + a.base).view(u64)[:, None]
        old = _in_window(sub, iid, a, there, mine, o) if window else _global(sub, iid, a, there, mine, o)
        for j in range(o.items if o.wanted else 0):
            seen[j][index] = np.broadcast_to(_bits(old[j], bits), (len(index), 1))[:, 0]
    return [result_of(x.view(o.dtype if o.dtype in (f32, f64) else bits).reshape(g.shape)) for x in seen] if o.wanted else None


def _every_lane(g: Group, x: Value) -> Value:
    x = full(x)
    return np.broadcast_to(x, g.shape).ravel() if x.__class__ is ndarray else x


def _bits(x: Value, dtype: Any) -> ndarray:
    x = np.asarray(x)
    return x.view(dtype) if x.dtype.kind == "f" else x.astype(dtype)


# ------------------------------------------------------------------------------------------------ spaces


def _global(g: Group, iid: int, a: Allocation, address: Value, operands: tuple, o: Operation) -> Any:
    m = g.batch.machine
    where = place(a.base, address, o.size)
    counts = m.counts[iid]
    requests, sectors = counts
    global_access.count_global(m, g, iid, a, address, o.total, "read_sectors")
    counts[:] = requests, sectors
    global_access.count_global(m, g, iid, a, address, o.total, "write_sectors")
    m.atomic_sectors += counts[1] - sectors
    if m.check:
        if a.unset is not None:
            if o.reads:
                m.init.read(g, iid, a, where, o.size, o.items, "atomic")
            m.init.write(a, where, o.size, o.items)
        if a.writable:
            m.races.store(g, iid, a, where, o.total, True, None, None, 0)
    cells = a.view(u16 if o.packed else o.dtype)
    shift = access.SHIFT[cells.itemsize]
    step = o.size >> shift
    index = address - a.base >> shift if address.__class__ is int else in_order(g, full(address)).view(i64) - a.base >> shift
    if o.dtype is f32 and o.name == "add":  # the unit beside the L2 cache takes subnormals for zero
        with flushed():
            seen = [apply(g, cells, index + j * step, operands, j, o) for j in range(o.items)]
    else:
        seen = [apply(g, cells, index + j * step, operands, j, o) for j in range(o.items)]
    return seen if o.wanted else None


def _shared(g: Group, iid: int, address: Value, operands: tuple, o: Operation) -> Any:
    batch = g.batch
    m = batch.machine
    p = shared_access.shared_pattern(m, g, address, o.total)
    if p is not None:
        low, high = m.shared_extent(iid, p.low)
        if p.low >= low and p.high + o.total <= high and p.aligned:
            if m.check:
                batch.shared_check.atomic(g, iid, p, o.total, o.reads)
            return _in_shared(g, iid, p.offsets, operands, o)
    lanes, offsets, columns = shared_access.each_shared(g, iid, address, o.total, "atomic")
    who = g if lanes is None else access.lanes_group(g, lanes)
    if len(offsets) and m.check:
        batch.shared_check.atomic_each(who, iid, offsets, columns, o.total, o.reads)
    if lanes is None and m.cluster > 1 and (columns != np.broadcast_to(g.block_columns, g.shape).ravel()).any():
        lanes = np.arange(len(offsets))  # in other blocks' memory
    if len(offsets) and m.cluster > 1:
        rows = np.repeat(g.rows, batch.B) if g.cols is None else g.rows
        who = Group(batch, rows[lanes] if lanes is not None else rows, columns, g.pc, [], g.code)
    if lanes is None:
        return _in_shared(g, iid, offsets.reshape(g.shape), operands, o)
    bits = UNSIGNED[8 * o.size]
    seen = [np.full(g.shape, POISON[o.size], bits) for _ in range(o.items)]
    if len(offsets):
        flat = [[_every_lane(g, x) for x in operand] for operand in operands]
        mine = tuple(tuple(x if np.ndim(x) == 0 else x[lanes][:, None] for x in operand) for operand in flat)
        old = _in_shared(who, iid, offsets[:, None], mine, o)
        for j in range(o.items if o.wanted else 0):
            seen[j].reshape(-1)[lanes] = np.broadcast_to(_bits(old[j], bits), (len(lanes), 1))[:, 0]
    return [result_of(x.view(o.dtype) if o.dtype in (f32, f64) else x) for x in seen] if o.wanted else None


def _in_shared(g: Group, iid: int, offsets: Value, operands: tuple, o: Operation) -> Any:
    """Good places: an int or (n,) offsets for all blocks, or one a lane."""
    batch = g.batch
    m = batch.machine
    m.counts[iid][0] += g.nwarps
    m.counts[iid][1] += g.nwarps
    memory, B = batch.shared, batch.B
    if offsets.__class__ is ndarray and offsets.ndim == 1:
        offsets = offsets[:, None]
    if offsets.__class__ is int and B == 1:
        word, part = offsets >> 2, offsets & 3
    else:
        offsets = in_order(g, np.asarray(offsets).reshape(1, 1) if offsets.__class__ is int else offsets)
        word, part = (offsets >> 2) * B + in_order(g, g.block_columns), offsets & 3
    seen = []
    for j in range(o.items):
        if o.size == 8:
            seen.append(_double_words(g, memory.words, word + 2 * j * B, operands, j, o))
        else:
            cells = memory.view(u16 if o.packed else o.dtype).reshape(-1)
            per = 4 // cells.itemsize
            at = part + j * o.size
            index = (word + (at >> 2) * B) * per + (at & 3) // cells.itemsize
            seen.append(apply(g, cells, index, operands, j, o))
    return seen if o.wanted else None


def _double_words(g: Group, words: ndarray, low: Value, operands: tuple, j: int, o: Operation) -> Value:
    """8 bytes lie in two rows of the words: collected, updated, put back."""
    flat, B = words.reshape(-1), words.shape[1]
    places, index = np.unique(low, return_inverse=True)
    cells = flat[places].astype(u64) | flat[places + B].astype(u64) << u64(32)
    seen = apply(g, cells.view(o.dtype), int(index.item()) if low.__class__ is int else index.reshape(-1), operands, j, o)
    flat[places], flat[places + B] = cells.astype(u32), (cells >> u64(32)).astype(u32)
    return seen


def _local(g: Group, iid: int, address: Value, operands: tuple, o: Operation) -> Any:
    """Local memory belongs to one thread: a load and a store."""
    raw = UNSIGNED[8 * o.size]
    old = local_access.load_local(g, iid, address, raw, o.size, o.items)
    old = [old] if o.items == 1 else old
    new = []
    for j, bits in enumerate(old):
        cells = np.array(np.broadcast_to(np.asarray(bits, raw), g.shape)).ravel()
        index = np.arange(len(cells)) * (2 if o.packed else 1)
        flat = tuple((_every_lane(g, operand[j]),) for operand in operands)
        one = access.lanes_group(g, np.arange(len(cells))) if g.cols is None else g
        turns = in_order(one, index[:, None])
        apply(one, cells.view(u16 if o.packed else o.dtype), turns, tuple((x if np.ndim(x) == 0 else x[:, None],) for (x,) in flat), 0, o)
        new.append(cells.reshape(g.shape))
    local_access.store_local(g, iid, address, tuple(new), raw, o.size)
    return (
        [x.view(o.dtype) if x.__class__ is ndarray and o.dtype in (f32, f64) else as_cell(x, o.dtype, o.size) if o.dtype in (f32, f64) else x for x in old]
        if o.wanted
        else None
    )


# ------------------------------------------------------------------------------------------------ generated code

NAMES = {"ATOMIC": atomic}


def _operation(e: Emitter, i: Instruction, wanted: bool, items: int) -> tuple[str, Operation]:
    """(the element's PTX type, the operation)."""
    type = next((m for m in reversed(i.modifiers) if m in HALVES or m[1:] in ("16", "32", "64") and m[0] in "usbf"), "")
    name = next((m for m in i.modifiers if m in OPERATIONS), "")
    if not type or not name or "async" in i.modifiers:
        raise e.unsupported()
    width = width_of(type)
    dtype: Any
    if type in HALVES:
        name, dtype = f"{name}.{HALVES[type]}", u16
    elif type in ("f32", "f64"):
        dtype = f32 if type == "f32" else f64
    else:
        dtype = (SIGNED if type[0] == "s" else UNSIGNED)[width]
    if name not in NEW:
        raise e.unsupported()
    return type, Operation(name, space_of(i), dtype, width // 8, items, type.endswith("x2"), wanted)


def _used(e: Emitter, i: Instruction, targets: tuple) -> bool:
    """Whether anything reads a result."""
    from ..blocks import reads

    later = e.block.instructions[e.index - e.block.start + 1 :]
    names = {t.name for t in targets if isinstance(t, Reg)}
    return bool(names & e.block.live_out) or any(names & set(reads(x)) for x in later)


def emit_atomic(e: Emitter, i: Instruction) -> None:
    """Every atomic is a release before and an acquire after: `checks.order` decides what that means."""
    targets = vector(i.operands[0]) if i.opcode == "atom" else ()
    address, *values = i.operands[1:] if i.opcode == "atom" else i.operands
    operands = [vector(x) for x in values[: 2 if "cas" in i.modifiers else 1]]
    wanted = _used(e, i, targets)
    type, operation = _operation(e, i, wanted, len(operands[0]))
    gp, ix = e.masked()
    iid = e.site(f"{i.opcode}.{operation.space}")
    where = address_text(e, address)  # type: ignore[arg-type]
    texts = [[e.use(x, type) for x in operand] for operand in operands]
    if ix != "None":
        where = f"PICK(g,{gp},{where},{ix})"
        texts = [[f"PICK(g,{gp},{x},{ix})" for x in operand] for operand in texts]
    operand_text = "".join(f"({','.join(operand)},)," for operand in texts)
    t, there = e.temporary(), e.temporary()
    e.line(f"{there}={where}" if ix == "None" else f"{there}=None if {gp} is None else {where}")
    release = f"{fence_of(i, gp)}RELEASE({gp},{there})"
    e.line(release if ix == "None" else f"if {gp} is not None: {release}")
    call = f"ATOMIC({gp},{iid},{there},({operand_text}),{e.constant(operation)})"
    e.line(f"{t}={call}" if ix == "None" else f"{t}=None if {gp} is None else {call}")
    e.line(f"ACQUIRE({gp},{there})" if ix == "None" else f"if {gp} is not None: ACQUIRE({gp},{there})")
    if wanted:
        for j, target in enumerate(targets):
            if target is not None:
                define_where(e, target, type, f"{t}[{j}]", gp, ix)


EMIT = {"atom": emit_atomic, "red": emit_atomic}
