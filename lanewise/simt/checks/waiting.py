"""Lanes and threads that wait for others in vain: member masks, divergent barriers, deadlocks within a block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain
from ..values import ndarray, to_array
from . import cluster, mbarrier, named_barriers
from .faults import Faults, on_line

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group


_WARPGROUP = frozenset(("wgmma", "setmaxnreg"))


def warpgroup_wide(g: Group) -> bool:
    """Whether the warp-wide instruction at which the group stands is for the four warps of a warpgroup together."""
    return g.code.blocks[g.pc].instructions[0].opcode in _WARPGROUP


def warp_operation(faults: Faults, g: Group) -> str:
    """The function of the source that the warp-wide instruction at which the group stands was made from."""
    i = g.code.blocks[g.pc].instructions[0]
    line = faults.machine.source_line(i.line)
    found = re.search(r"__\w+_sync\b|__syncwarp\b", line)
    if found:
        return found[0]
    if i.opcode == "shfl":
        mode = next(m for m in i.modifiers if m in ("up", "down", "bfly", "idx"))
        return {"idx": "__shfl_sync", "bfly": "__shfl_xor_sync"}.get(mode, f"__shfl_{mode}_sync")
    if i.opcode == "vote":
        mode = next(m for m in i.modifiers if m in ("all", "any", "uni", "ballot"))
        return f"__{mode}_sync"
    names = {"match": "__match_any_sync", "redux": "__reduce_add_sync", "bar": "__syncwarp", "barrier": "__syncwarp"}
    return names.get(i.opcode, ".".join((i.opcode, *i.modifiers[:1])))


def _mask_and_active(g: Group, lane: int) -> tuple[int, int]:
    """The member mask of a lane, and who of its warp is here. `lane`: row of the group; of a regular one, in the first block."""
    mask = g.code.mask(g.pc)
    values = to_array(mask if mask.__class__ is int else mask(g), 32)
    named = int(values[lane if values.shape[0] > 1 else 0, 0])
    here = g.rows[(g.rows >> 5 == g.rows[lane] >> 5) & (g.cols == g.cols[lane] if g.cols is not None else True)]
    return named, int(sum(1 << int(r & 31) for r in here))


def missing_lanes(faults: Faults, g: Group) -> None:
    """A warp-wide instruction names lanes that will never come to it."""
    if not faults.machine.check:
        return
    if warpgroup_wide(g):
        from .wgmma import incomplete

        incomplete(faults, g)
        return
    warps = g.rows >> 5 if g.cols is None else (g.rows >> 5) * g.batch.B + g.cols
    mask = g.code.mask(g.pc)
    masks = np.broadcast_to(to_array(mask if mask.__class__ is int else mask(g), 32), g.shape)[:, 0]  # of a warp's halves, say, each its own
    for lane in np.sort(np.unique(np.stack([warps, masks]), axis=1, return_index=True)[1]).tolist():
        named, active = _mask_and_active(g, lane)
        if named & ~active:
            thread, block = faults.lane(g, lane if g.cols is not None else lane * g.batch.B)
            facts: dict[str, Any] = {"operation": warp_operation(faults, g), "elsewhere": _waits_elsewhere(faults, g, lane, named & ~active)}
            faults.add(explain.warp_mask(line=faults.pc_line(g), thread=thread, block=block, mask=named, active=active, **facts))
            return


def _waits_elsewhere(faults: Faults, g: Group, lane: int, absent: int) -> tuple[str, int] | None:
    """The warp operation at which all of the absent lanes of a lane's warp wait, and its line; None where they don't, or it is the same line."""
    for x in g.batch.groups:
        if x is g or x.waits not in ("warp", "forced"):
            continue
        same = x.rows >> 5 == g.rows[lane] >> 5
        if g.cols is not None and x.cols is not None:
            same &= x.cols == g.cols[lane]
        there = sum(1 << int(r & 31) for r in set(x.rows[same].tolist()))
        line = faults.pc_line(x)
        if not absent & ~there and line and line != faults.pc_line(g):
            return warp_operation(faults, x), line
    return None


def outside_mask(faults: Faults, g: Group, outside: ndarray) -> None:
    """Lanes execute a warp-wide instruction whose mask doesn't name them."""
    index = int(np.flatnonzero(outside.ravel())[0])
    thread, block = faults.lane(g, index)
    value, active = _mask_and_active(g, index if g.cols is not None else index // g.batch.B)
    faults.add(
        explain.warp_mask(
            line=faults.pc_line(g), thread=thread, block=block, operation=warp_operation(faults, g), mask=value, active=active,
            next_step="The mask must name every lane that executes it, this one included.",
        )
    )  # fmt: skip


def barrier_completed(faults: Faults, batch: Batch, waiting: list[Group], everyone: bool) -> None:
    """Threads of one block met at barriers on different lines, where these must not differ, or some had skipped it."""
    places = {(g.code.number, g.pc) for g in waiting}
    if len(places) > 1:
        lines = [faults.pc_line(g) for g in waiting]
        advice = named_barriers.apart(waiting) if waiting[0].held.id else ""
        if (len(set(lines)) > 1 or None in lines) and (advice or not waiting[0].held.id):
            threads = [sorted({int(r) for r in g.rows}) for g in waiting]
            block, thread = faults.block(int(batch.ids[0])), faults.thread(int(waiting[0].rows[0]))
            faults.add(explain.barrier_divergence(lines=lines, threads=threads, block=block, thread=thread, next_step=advice))
        return
    if not everyone or not batch.exited.any():
        return
    g = waiting[0]
    code, pc = (g.frames[0].code, g.frames[0].pc) if g.frames else (g.code, g.pc)
    behind = code.graph.behind(pc) - (frozenset() if g.frames else {pc})
    skipped = batch.exited & np.isin(batch.last_pc, list(behind)) & ~batch.exited.all(axis=0)  # they ran code behind the barrier and have gone
    if skipped.any():
        column = int(np.flatnonzero(skipped.any(axis=0))[0])
        there = sorted({int(r) for x in waiting for r in (x.rows if x.cols is None else x.rows[x.cols == column])})
        faults.add(
            explain.barrier_divergence(
                lines=[faults.pc_line(g)], threads=[there], block=faults.block(int(batch.ids[column])), thread=faults.thread(int(g.rows[0])),
                left=np.flatnonzero(skipped[:, column]).tolist(),
            )
        )  # fmt: skip


def deadlock(faults: Faults, batch: Batch) -> None:
    """Nobody in the batch can go on."""
    from ..instructions import registers

    if registers.deadlock(batch) or mbarrier.deadlock(batch) or cluster.deadlock(batch):
        return
    waiting = [g for g in batch.groups if g.waits == "barrier"]
    g = waiting[0]
    block = faults.block(int(batch.ids[int(g.cols[0]) if g.cols is not None else 0]))
    threads = sorted({int(r) for r in g.rows})
    if g.held.count is not None:
        arrived = sum(len(np.unique(x.rows)) for x in waiting if x.held.id == g.held.id)
        faults.add(
            explain.named_barrier_deadlock(
                line=faults.pc_line(g), threads=threads, block=block, barrier=g.held.id, expected=g.held.count, arrived=arrived,
                thread=faults.thread(threads[0]), alone=named_barriers.completed_alone(batch, g.held.id),
            )
        )  # fmt: skip
        return
    others = [x for x in waiting if x.held.id != g.held.id]
    there = f" while {len(others[0].rows)} others wait at barrier {others[0].held.id}{on_line(faults.pc_line(others[0]))}" if others else ""
    faults.add(
        explain.deadlock(
            line=faults.pc_line(g), threads=threads, block=block, waits_for=f"all threads of the block at barrier {g.held.id}{there}",
            next_step="Let every thread of the block reach the same barrier.", thread=faults.thread(threads[0]),
        )
    )  # fmt: skip
