"""mbarrier.*: barriers that count arrivals and bytes (PTX ISA 9.7.13.15, "mbarrier"). What they do is in mbarriers.py.

A state, the result of an arrival, is opaque in PTX. Here it holds what stood before the arrival: phases completed (from bit 40), arrivals pending
(from bit 20), arrivals of a whole phase.
"""

from __future__ import annotations

import numpy as np

from .. import shared_access
from ..arithmetic import add64
from ..checks import mbarrier as check
from ..checks import proxy
from ..codegen import Emitter
from ..mbarrier_waits import wait
from ..mbarriers import MOST, Barrier, barriers, late, of_part, parts, per_block, publish, sources
from ..memory import SHARED_WINDOW
from ..ptx import Address, Instruction, Reg
from ..values import full, i64, ndarray, u32, u64
from .memory import address_text, define_where

SIZE = 8  # bytes of an mbarrier


def offset_of(address):
    """A generic address of shared memory as an offset there; nobody's, if it is none."""
    wide = full(address)
    if wide.__class__ is ndarray and wide.dtype.itemsize == 4:  # a register of 32 bits names the first 4 GB
        address = wide.astype(u64)
    return add64(address, -SHARED_WINDOW & (1 << 64) - 1)


def init(g, iid: int, address, count) -> None:
    batch = g.batch
    m = batch.machine
    m.stores += 1
    good, offsets, columns = shared_access.each_shared(g, iid, address, SIZE, "write")
    rows = np.broadcast_to(g.rows[:, None], g.shape).ravel()
    counts = np.broadcast_to(np.asarray(full(count), dtype=i64), g.shape).ravel()
    if good is not None:
        rows, counts = rows[good], counts[good]
    for offset in np.unique(offsets).tolist():
        lanes = np.flatnonzero(offsets == offset)
        here = np.zeros(batch.B, bool)
        here[columns[lanes]] = True
        values = np.zeros(batch.B, i64)
        values[columns[lanes]] = counts[lanes]
        if m.check:
            check.initialised(batch, g, iid, offset, rows[lanes], counts[lanes], len(lanes) > here.sum())
        if m.check:
            proxy.watched(batch).barrier_at(offset, True)
        barriers(batch).init(offset, np.clip(values, 0, MOST), here, (iid, int(rows[lanes[-1]]), batch.time))


def inval(g, iid: int, address) -> None:
    for offset, part, _ in parts(g, address):
        b = known(g, part, iid, offset, "invalidates")
        if b is not None:
            b.live = b.live.copy()
            b.live[slice(None) if part.cols is None else part.cols] = False
            if g.batch.machine.check and not b.live.any():
                proxy.watched(g.batch).barrier_at(offset, False)


def known(g, part, iid: int, offset: int, does: str, own: ndarray | None = None) -> Barrier | None:
    """The barrier at an offset; None, with a finding, where there is none. `own`: the columns of the lanes' own blocks, where these may be others."""
    batch = g.batch
    b = barriers(batch).at.get(offset)
    if batch.machine.check:
        check.used(batch, part, iid, offset, b, does, own)
    if b is None or not b.live[slice(None) if part.cols is None else part.cols].all():
        return None
    return b


def arrive(g, iid: int, address, count=1, tx=None, drop: bool = False, completes: bool = True, releases: bool = True):
    """`count` arrivals of every lane, after its expect_tx of `tx` bytes (None: none). Returns the states."""
    batch = g.batch
    table = barriers(batch)
    batch.machine.stores += 1
    states = np.zeros(g.shape, u64)
    for offset, part, index in parts(g, address):
        b = known(g, part, iid, offset, "arrives at", sources(g, part, index)[0])
        if b is None:
            continue
        counts = of_part(g, part, index, count)
        before = _states(b, part, counts)
        if index is None:
            states = before
        elif part.cols is None:
            states[index] = before
        else:
            states.reshape(-1)[index] = before[:, 0]
        if tx is not None:
            amount, columns = per_block(part, of_part(g, part, index, tx))
            _expect(b, amount, columns)
        amount, columns = per_block(part, counts)
        tells = releases and batch.happened is not None
        behind = late(b, part, before, amount, columns) if tells else None
        if tells:
            publish(g, part, index, b, iid, behind)
            batch.shared_check.partial_sync()
        if drop:
            b.expected = b.expected.copy()
            b.expected[columns] -= amount
        if batch.machine.check and not completes:
            check.must_not_complete(batch, part, iid, b, amount, columns)
        if not table.arrive(b, amount, columns) and batch.machine.check:
            check.too_many(batch, part, iid, b, amount, columns)
        if behind is not None:
            publish(g, part, index, b, iid, behind, now=False)
    return states


def _states(b: Barrier, part, counts) -> ndarray:
    """What each lane finds before its own arrival: the lanes of a block come one after the other."""
    table = np.broadcast_to(np.asarray(full(counts), dtype=i64), part.shape)
    if part.cols is None:
        before = np.cumsum(table, axis=0) - table
        phase, pending, expected = b.phase[None, :], b.pending[None, :], b.expected[None, :]
    else:
        before = np.zeros(part.shape, i64)
        for column in np.unique(part.cols):
            here = part.cols == column
            before[here, 0] = np.cumsum(table[here, 0]) - table[here, 0]
        phase, pending, expected = (x[part.cols][:, None] for x in (b.phase, b.pending, b.expected))
    later = before - pending
    through = later >= 0
    whole = np.maximum(expected, 1)
    phase = np.where(through, phase + 1 + later // whole, phase)
    pending = np.where(through, expected - later % whole, pending - before)
    return phase.astype(u64) << u64(40) | (pending & MOST).astype(u64) << u64(20) | (expected & MOST).astype(u64)


def _expect(b: Barrier, amount: ndarray, columns) -> None:
    b.tx, b.announced = b.tx.copy(), b.announced.copy()
    b.tx[columns] += amount
    b.announced[columns] += amount


def expect_tx(g, iid: int, address, tx) -> None:
    table = barriers(g.batch)
    for offset, part, index in parts(g, address):
        b = known(g, part, iid, offset, "announces bytes at")
        if b is not None:
            amount, columns = per_block(part, of_part(g, part, index, tx))
            _expect(b, amount, columns)
            table.bytes(b, 0, columns)


def complete_tx(g, iid: int, address, tx) -> None:
    table = barriers(g.batch)
    for offset, part, index in parts(g, address):
        b = known(g, part, iid, offset, "completes bytes at")
        if b is not None:
            amount, columns = per_block(part, of_part(g, part, index, tx))
            table.bytes(b, -amount, columns)


def pending_count(state):
    """The arrivals that were pending when a state was made."""
    if state.__class__ is int:
        return state >> 20 & MOST
    return ((full(state) >> u64(20)) & u64(MOST)).astype(u32)


NAMES = {
    "MBINIT": init, "MBINVAL": inval, "MBARRIVE": arrive, "MBEXPECT": expect_tx, "MBCOMPLETE": complete_tx, "MBPENDING": pending_count, "MBWAIT": wait,
    "MBOFFSET": offset_of,
}  # fmt: skip


def barrier_text(e: Emitter, i: Instruction, address: Address) -> str:
    """The shared offset of an mbarrier operand."""
    where = address_text(e, address)
    if any(m.startswith("shared") for m in i.modifiers):
        return where
    return f"MBOFFSET({where})"


def emit_mbarrier(e: Emitter, i: Instruction) -> bool | None:
    kind = i.modifiers[0]
    if kind == "pending_count":
        e.define(i.operands[0], "u32", f"MBPENDING({e.use(i.operands[1], 'b64')})")
        return None
    if kind in ("test_wait", "try_wait"):
        return _wait(e, i)
    iid = e.site(f"mbarrier.{kind}")
    gp, ix = e.masked()
    operands = list(i.operands)
    result = operands.pop(0) if kind in ("arrive", "arrive_drop") and not isinstance(operands[0], Address) else None
    address, *numbers = operands
    assert isinstance(address, Address)
    values = [barrier_text(e, i, address), *(e.use(n, "u32") for n in numbers)]
    if ix != "None":
        values = [f"PICK(g,{gp},{x},{ix})" for x in values]
    text = ",".join([gp, str(iid), *values])
    if kind in ("init", "inval", "expect_tx", "complete_tx"):
        name = {"init": "MBINIT", "inval": "MBINVAL", "expect_tx": "MBEXPECT", "complete_tx": "MBCOMPLETE"}[kind]
        e.line(f"{name}({text})" if ix == "None" else f"if {gp} is not None: {name}({text})")
        return None
    if kind not in ("arrive", "arrive_drop"):
        raise e.unsupported()
    text = ",".join([gp, str(iid), values[0]])
    if "expect_tx" in i.modifiers:
        text += f",1,{values[1]}"
    elif numbers:
        text += f",{values[1]}"
    if kind == "arrive_drop":
        text += ",drop=True"
    if "noComplete" in i.modifiers:
        text += ",completes=False"
    if "relaxed" in i.modifiers:
        text += ",releases=False"
    t = e.temporary()
    e.line(f"{t}=MBARRIVE({text})" if ix == "None" else f"{t}=None if {gp} is None else MBARRIVE({text})")
    if isinstance(result, Reg):
        define_where(e, result, "b64", t, gp, ix)
    return None


def _wait(e: Emitter, i: Instruction) -> bool:
    """Stands alone in its block: the machine parks the lanes that wait."""
    result, address, operand = i.operands[:3]  # a time limit may follow: here nobody waits in vain
    assert isinstance(result, Reg) and isinstance(address, Address)
    iid = e.site(f"mbarrier.{i.modifiers[0]}")
    parity = "parity" in i.modifiers
    p = "True" if i.predicate is None else e.use(i.predicate, "pred")
    where, value = barrier_text(e, i, address), e.use(operand, "u32" if parity else "b64")
    acquires = "relaxed" not in i.modifiers
    e.line(f"return MBWAIT(g,{iid},{where},{value},{parity},{acquires},{p},{e.slot(result.name)},{e.block.index + 1})")
    return True


EMIT = {"mbarrier": emit_mbarrier}
