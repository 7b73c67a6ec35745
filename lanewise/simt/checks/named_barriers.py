"""What a numbered barrier may be given: an id from 0 to 15, whole warps, one count for all who meet there (PTX ISA 9.7.13.1, "barrier").

They may come to it on different lines, as producers and consumers do. Barrier 0 is __syncthreads(), which all threads reach in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import explain_flow
from .faults import on_line

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group

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
    mine = batch.T if not count else count
    columns = set(range(batch.B)) if g.cols is None else set(g.cols.tolist())
    for other, where in _meanwhile(batch, g, id, columns):
        if other != mine:
            text = {"line": line, "count": mine, "other_line": where, "other_count": other}
            faults.add(explain_flow.barrier_counts_differ(**text, thread=thread, block=block, barrier=id))
            return


def apart(waiting: list[Group]) -> str:
    """What to advise where threads met at one numbered barrier on different lines and may not; "": they may, the number names the barrier."""
    if len({(g.held.how, g.held.slot is None) for g in waiting}) > 1:
        return "A barrier reduces the predicates of all who come, or of none: give bar.red a number of its own."
    seen: set[int] = set()
    for g in waiting:
        if not _aligned(g):
            continue
        warps = set(g.warp_columns.ravel().tolist())
        if warps & seen:
            return "All lanes of a warp come to the same bar.sync: put one behind the if, not inside it, or take barrier.sync, which lanes may meet apart."
        seen |= warps
    return ""


def _aligned(g: Group) -> bool:
    """Whether the instruction is for whole warps: bar is short for barrier….aligned."""
    i = g.code.blocks[g.pc].instructions[0]
    return i.opcode == "bar" or "aligned" in i.modifiers


def _meanwhile(batch: Batch, g: Group, id: int, columns: set[int]):
    """(count, line) of those who are at the barrier in the same blocks."""
    for x in batch.groups:
        if x is not g and x.waits == "barrier" and x.held.id == id and (x.cols is None or columns & set(x.cols.tolist())):
            yield batch.T if x.held.count is None else x.held.count, batch.machine.faults.pc_line(x)
    arrived, last = batch.arrived.get(id), batch.arrivals.get(id)
    if last is not None and arrived is not None and arrived[sorted(columns)].any():
        yield last.count, last.line


def completed_alone(batch: Batch, id: int) -> str:
    """What to say of a barrier in vain waited for, if arrivals had completed it while nobody waited; else nothing."""
    last = batch.arrivals.get(id)
    if last is None or not last.alone:
        return ""
    return f"the arrivals{on_line(last.line)} completed it before anybody waited there: who arrives again must know that the others have passed"
