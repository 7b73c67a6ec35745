"""What a numbered barrier may be given: an id from 0 to 15, whole warps, one count for all who meet there (PTX ISA 9.7.13.1, "barrier").

They may come to it on different lines, as producers and consumers do. Barrier 0 is __syncthreads(), which all threads reach in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain, explain_flow, ptx
from ..blocks import for_whole_warps
from ..values import ndarray
from .faults import Faults, on_line

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..machine import Machine
    from ..program import Program

LAST = 15
WARP = 32
MOST = 1024


@dataclass(slots=True)
class Arrivals:
    """The last bar.arrive at a barrier: the count it gave, its line; whether arrivals alone completed the barrier once."""

    count: int
    line: int | None
    alone: bool = False


def used(batch: Batch, g: Group, id: int, count: int | None, arrives: bool) -> None:
    """A group comes to barrier `id` for `count` threads (None: all of the block)."""
    faults = batch.machine.faults
    line = faults.pc_line(g)
    thread, block = faults.lane(g, 0)
    if id > LAST:
        faults.add(explain_flow.no_such_barrier(line=line, thread=thread, block=block, barrier=id))
    if count is not None and (count % WARP or count > MOST or (arrives and not count)):
        faults.add(explain_flow.barrier_count(line=line, thread=thread, block=block, barrier=id, count=count, arrives=arrives))
        return
    if not arrives:
        batch.machine.awaited.add(id)
    elif count and id not in batch.machine.first_arrivals:
        batch.machine.first_arrivals[id] = {"count": count, "line": line, "thread": thread, "block": block}
    if count and count > WARP and id in batch.last_met:  # a warp that counts itself alone meets nobody
        others_meet(batch, g, id, line)
    mine = count or WARP * batch.W
    columns = set(range(batch.B)) if g.cols is None else set(g.cols.tolist())
    for other, where in _meanwhile(batch, g, id, columns):
        if other != mine:
            text = {"line": line, "count": mine, "other_line": where, "other_count": other}
            faults.add(explain_flow.barrier_counts_differ(**text, thread=thread, block=block, barrier=id))
            return


def one_of_a_warp(batch: Batch, g: Group, values: ndarray, counts: bool) -> None:
    """Lanes come to a barrier for whole warps with numbers (or counts) of their own; they must be the same in a warp."""
    if not for_whole_warps(g.code.blocks[g.pc].instructions[0]):
        return
    whole = np.broadcast_to(values, g.shape).ravel()
    warps = g.warp_columns.ravel()
    _, first, of = np.unique(warps, return_index=True, return_inverse=True)
    unlike = np.flatnonzero(whole != whole[first][of])
    if len(unlike):
        faults, lane = batch.machine.faults, int(unlike[0])
        leader = int(first[of[lane]])
        (thread, block), (other, _) = faults.lane(g, leader), faults.lane(g, lane)
        text = {"mine": int(whole[leader]), "others": int(whole[lane])}
        faults.add(explain_flow.barrier_of_a_warp(line=faults.pc_line(g), thread=thread, block=block, other_thread=other, counts=counts, **text))


def some_warps_meet(program: Program) -> bool:
    """Whether the kernel has barriers for a number of threads, at which other warps than the last time may come."""
    body = (i for function in program.reached() for i in ptx.body(program.module, function) if i.opcode in ("bar", "barrier"))
    return any(len(i.operands) > (3 if "red" in i.modifiers else 1) and {"warp", "cluster"}.isdisjoint(i.modifiers) for i in body)


def too_many(batch: Batch, id: int, count: int, waiting: list[Group], came: ndarray) -> None:
    """A barrier is complete for `count` threads, and more are there."""
    if count > WARP and (came > count).any():
        column = int(np.argmax(came > count))
        faults, first = batch.machine.faults, waiting[0]
        rows = sorted({int(r) for x in waiting for r in (x.rows if x.cols is None else x.rows[x.cols == column])})
        text: dict[str, Any] = {"line": faults.pc_line(first), "threads": rows, "barrier": id, "count": count, "came": int(came[column])}
        faults.add(explain_flow.too_many_at_a_barrier(**text, thread=faults.thread(rows[0]), block=faults.block(int(batch.ids[column]))))


def others_meet(batch: Batch, g: Group, id: int, line: int | None) -> None:
    """Warps come to a barrier at which others met last, and do not know that those have passed: they might have come before."""
    happened = batch.happened
    if happened is None or happened.size > 1 or batch.machine.order.active:
        return  # flags in memory may tell them
    when, met, met_line = batch.last_met[id]
    met = met if g.cols is None else met[:, np.unique(g.cols)]
    passed = np.flatnonzero(met.any(axis=1))
    if not len(passed):
        return
    rows = np.unique(g.rows)
    knows = np.isin(rows, passed)
    for k in np.unique(happened.which[rows[~knows]]).tolist():
        if (happened.vectors[k][passed] > when).any():
            knows |= happened.which[rows] == k
    unaware = np.setdiff1d(rows >> 5, rows[knows] >> 5)  # what one lane of a warp knows holds for the warp, which comes as a whole
    if len(unaware):
        faults, first = batch.machine.faults, int(rows[rows >> 5 == unaware[0]][0])
        column = int(g.cols[g.rows == first][0]) if g.cols is not None else int(np.argmax(met.any(axis=0)))
        text: dict[str, Any] = {"line": line, "met_line": met_line, "barrier": id, "met": passed.tolist()}
        faults.add(explain_flow.others_at_a_barrier(**text, thread=faults.thread(first), block=faults.block(int(batch.ids[column]))))


def twice(batch: Batch, g: Group, id: int, warps: ndarray) -> None:
    """Warps (× blocks) come to barrier `id`; some of them have arrived there and it hasn't been complete since: "unpredictable", says the ISA."""
    before = batch.arrived_on[id] * warps
    if before.any():
        faults = batch.machine.faults
        warp, column = (int(k) for k in np.argwhere(before)[0])
        arrives = "arrive" in g.code.blocks[g.pc].instructions[0].modifiers
        first, thread, block = max(int(before[warp, column]), 0) or None, faults.thread(WARP * warp), faults.block(int(batch.ids[column]))
        line = faults.pc_line(g)
        faults.add(explain_flow.counted_twice(line=line, arrived_line=first, thread=thread, block=block, barrier=id, arrives=arrives))


def apart(waiting: list[Group]) -> str:
    """What to advise where threads met at one numbered barrier on different lines and may not; "": they may, the number names the barrier."""
    if len({(g.held.how, g.held.slot is None) for g in waiting}) > 1:
        return REDUCES
    return ""


REDUCES = "A barrier reduces the predicates of all who come, or of none: give bar.red a number of its own."


def reduced_and_arrived(batch: Batch, waiting: list[Group]) -> None:
    """bar.red at a barrier at which others arrive brings no predicate of theirs: "should not be intermixed", says the ISA."""
    arrived = batch.arrived_on.get(waiting[0].held.id)
    reduced = next((g for g in waiting if g.held.how), None)
    if reduced is None or arrived is None or not arrived.any():
        return
    faults = batch.machine.faults
    column = int(np.argmax(arrived.any(axis=0)))
    warps = np.flatnonzero(arrived[:, column])
    lines = [faults.pc_line(reduced), max(int(arrived[warps[0], column]), 0) or None]
    threads = [sorted(set(reduced.rows.tolist())), [t for t in range(batch.T) if t // WARP in warps]]
    block, thread = faults.block(int(batch.ids[column])), faults.thread(int(reduced.rows[0]))
    faults.add(explain.barrier_divergence(lines=lines, threads=threads, block=block, thread=thread, next_step=REDUCES, arrives=(False, True)))


def whole_warps(g: Group) -> str:
    """What to advise where a part of a warp comes to the barrier at which the group stands."""
    i = g.code.blocks[g.pc].instructions[0]
    mode = next(m for m in ("arrive", "wait", "red", "sync") if m in i.modifiers)
    cluster = "cluster" in i.modifiers
    name = f"barrier.cluster.{mode}.aligned" if cluster else f"{i.opcode}.{mode}" + (".aligned" if i.opcode == "barrier" else "")
    step = f"All lanes of a warp come to the same {name}: put one behind the if, not inside it"
    if cluster:
        return step + f", or take barrier.cluster.{mode}, which lanes may come to apart."
    return step + ("." if mode == "arrive" else f", or take barrier.{mode}, which lanes may meet apart.")


def _meanwhile(batch: Batch, g: Group, id: int, columns: set[int]):
    """(count, line) of those who are at the barrier in the same blocks."""
    for x in batch.groups:
        if x is not g and x.waits == "barrier" and x.held.id == id and (x.cols is None or columns & set(x.cols.tolist())):
            yield x.held.count or WARP * batch.W, batch.machine.faults.pc_line(x)
    arrived, last = batch.arrived.get(id), batch.arrivals.get(id)
    if last is not None and arrived is not None and arrived[sorted(columns)].any():
        yield last.count, last.line


def lacking(batch: Batch, id: int, column: int) -> list[int]:
    """Threads of one block that keep their warps from counting at a barrier: others of the warp are there, and they are neither there nor gone."""
    there = [x.rows if x.cols is None else x.rows[x.cols == column] for x in batch.groups if x.waits == "barrier" and x.held.id == id]
    here = np.zeros(batch.T, bool) if id not in batch.arriving else batch.arriving[id][:, column].copy()
    here[np.concatenate(there)] = True
    warps = np.unique(np.flatnonzero(here) // WARP)
    return np.flatnonzero(~here & ~batch.exited[:, column] & np.isin(np.arange(batch.T) // WARP, warps)).tolist()


def unawaited(machine: Machine, found: Faults) -> None:
    """Remarks on arrivals at numbers at which nothing in the kernel can wait.

    The ISA allows arrivals that nobody waits for, and right kernels end with some: who waits only from the second turn on leaves the last ones over. So
    a number is spoken of only if no instruction waits there.
    """
    if not machine.first_arrivals:
        return
    body = [i for function in machine.program.reached() for i in ptx.body(machine.program.module, function) if i.opcode in ("bar", "barrier")]
    waits = [i.operands[1 if "red" in i.modifiers else 0] for i in body if {"warp", "cluster", "arrive"}.isdisjoint(i.modifiers) and i.operands]
    if not all(isinstance(number, ptx.Imm) for number in waits):
        return  # a number in a register may be any
    for barrier in machine.first_arrivals.keys() - machine.awaited - {number.value for number in waits if isinstance(number, ptx.Imm)}:
        found.add(explain.unawaited_arrival(barrier=barrier, **machine.first_arrivals[barrier]))


def elsewhere(batch: Batch, id: int, column: int) -> str:
    """What to say to those who wait at barrier `id` in vain, if there are arrivals at a number at which nobody waits; else nothing."""
    waits = {x.held.id for x in batch.groups if x.waits == "barrier"}
    for other, arrived in batch.arrived.items():
        if other not in waits and arrived[column] and other not in batch.machine.awaited:
            who = f"{arrived[column]} threads have arrived at barrier {other}{on_line(batch.arrivals[other].line)}, where nobody waits"
            return who + ": give both the same number, if they are to meet."
    return ""


def completed_alone(batch: Batch, id: int) -> str:
    """What to say of a barrier in vain waited for, if arrivals had completed it while nobody waited; else nothing."""
    last = batch.arrivals.get(id)
    if last is None or not last.alone:
        return ""
    return f"the arrivals{on_line(last.line)} completed it before anybody waited there: who arrives again must know that the others have passed"
