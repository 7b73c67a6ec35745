"""Waiting for mbarriers: test_wait and try_wait (PTX ISA 9.7.13.15.16, "mbarrier.test_wait, mbarrier.try_wait").

Lanes whose phase isn't complete are parked; a completed phase wakes them (mbarriers.Barriers.wake). Where nobody else can go on they get the answer
"not yet", and when that has been of no use often enough it is a deadlock: see checks.mbarrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .branches import branch
from .checks import mbarrier as check
from .group import Group
from .mbarriers import Barrier, barriers, of_part, parts
from .values import full, i64, ndarray, tidy, u64

if TYPE_CHECKING:
    from .batch import Batch

TIMEOUTS = 16  # answers "not yet" without any change meanwhile until it is a deadlock


@dataclass(frozen=True, slots=True)
class Waits:
    """What a parked group waits for: barriers, and for messages the wait that its first lane stands in."""

    offsets: frozenset[int]
    iid: int
    offset: int  # of the first lane that can't go on
    row: int
    column: int
    phase: int  # number of the phase that must complete

    def map(self, f) -> Waits:
        return self

    def merged(self, other: Waits, join) -> Waits:
        return self


def wait(g: Group, iid: int, address, operand, parity: bool, acquires: bool, predicate, slot: int, next_pc: int) -> int:
    """test_wait and try_wait: lanes whose phase is complete go on with True, the others wait (with False if nobody else can go on)."""
    batch = g.batch
    table = barriers(batch)
    out = np.ones(g.shape, bool)
    blocked: Waits | None = None
    offsets = []
    skip = None if predicate is True else ~np.broadcast_to(predicate, g.shape)
    if skip is not None and skip.all():
        return next_pc
    for offset, part, index in parts(g, address):
        b = table.at.get(offset)
        if batch.machine.check:
            check.used(batch, part, iid, offset, b, "waits for")
        if b is None:
            continue  # reported; nothing will ever complete it
        offsets.append(offset)
        phases = b.phase[None, :] if part.cols is None else b.phase[part.cols][:, None]
        value = of_part(g, part, index, operand)
        if parity:
            wanted = full(value)
            if batch.machine.check and (wanted if wanted.__class__ is int else wanted.max()) > 1:
                check.parity(batch, part, iid, b, wanted)
            complete = (phases & 1) != np.asarray(wanted, dtype=i64) & 1
        else:
            complete = (np.asarray(full(value), dtype=u64) >> u64(40)).astype(i64) < phases
        complete = np.broadcast_to(complete, part.shape)
        if index is None:
            out = complete.copy()
        elif part.cols is None:
            out[index] = complete
        else:
            out.reshape(-1)[index] = complete[:, 0]
        if not complete.all():
            blocked = blocked or _blocked(part, complete, iid, b)
        if complete.any():
            table.land(b, b.phase)
            if acquires and batch.happened is not None:
                _acquire(batch, part, b, complete)
    if skip is not None:
        out |= skip
    if blocked is not None and not out.all():
        if g.waits == "forced":
            g.waits = ""
        elif not out.any():
            g.waits = "mbarrier"
            g.held = Waits(frozenset(offsets), blocked.iid, blocked.offset, blocked.row, blocked.column, blocked.phase)
            return -1
        else:
            g.regs[slot] = True if skip is None else _kept(g, slot, skip, True)
            return branch(g, out, next_pc, g.pc)
    elif g.waits == "forced":
        g.waits = ""
    answer = _folded(out)
    g.regs[slot] = answer if skip is None else _kept(g, slot, skip, answer)
    return next_pc


def _blocked(part: Group, complete: ndarray, iid: int, b: Barrier) -> Waits:
    """The wait of a lane that can't go on, for messages: one that bytes are missing for tells most."""
    lanes = np.flatnonzero(~complete.ravel())
    columns = lanes % part.batch.B if part.cols is None else part.cols[lanes]
    k = int(np.argmax(b.tx[columns] != 0))
    column = int(columns[k])
    return Waits(frozenset(), iid, b.offset, int(part.rows[lanes[k] // part.shape[1]]), column, int(b.phase[column]))


def _acquire(batch: Batch, part: Group, b: Barrier, complete: ndarray) -> None:
    """The lanes that go on know what was published with the phases they have seen, block by block of a cluster."""
    happened = batch.happened
    assert happened is not None
    size = happened.size
    for rank in range(size):
        if part.cols is None:
            rows = part.rows[complete[:, rank::size].any(axis=1)]
        else:
            rows = np.unique(part.rows[complete[:, 0] & (part.cols % size == rank)])
        if len(rows):
            happened.acquire(rank * batch.T + rows, b.done[rank], happened.slot(b.slot, rank), int(b.phase[rank::size].max()))


def _folded(out: ndarray):
    return tidy(out.flat[0]) if (out == out.flat[0]).all() else out


def _kept(g: Group, slot: int, skip: ndarray, value):
    """The predicate register where the instruction's own predicate is false stays as it was."""
    old = g.regs[slot]
    return np.where(skip, False if old is None else old, value)


def woken_by_time(batch: Batch) -> bool:
    """Nobody can run: those who wait for mbarriers get the answer "not yet". False if that was tried often enough without any change."""
    waiting = [g for g in batch.groups if g.waits == "mbarrier"]
    if not waiting:
        return False
    table, stores = barriers(batch), batch.machine.stores
    last, times = table.timeouts
    times = times + 1 if last == stores else 0
    table.timeouts = (stores, times)
    if times >= TIMEOUTS:
        return False
    for g in waiting:
        g.waits = "forced"
    batch.watch.forget()  # what they do next is no endless loop: see TIMEOUTS
    return True
