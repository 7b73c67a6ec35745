"""Lanes and threads that wait for others in vain: member masks, divergent barriers, deadlocks within a block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain
from ..arrivals import come
from ..blocks import for_whole_warps
from ..finding import Finding
from ..values import ndarray, to_array
from . import cluster, gone_past, mbarrier, named_barriers
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
    if for_whole_warps(i):
        return ".".join((i.opcode, *(m for m in i.modifiers if m in ("cluster", "sync", "arrive", "wait", "red", "aligned"))))
    if i.opcode == "shfl":
        mode = next(m for m in i.modifiers if m in ("up", "down", "bfly", "idx"))
        return {"idx": "__shfl_sync", "bfly": "__shfl_xor_sync"}.get(mode, f"__shfl_{mode}_sync")
    if i.opcode == "vote":
        mode = next(m for m in i.modifiers if m in ("all", "any", "uni", "ballot"))
        return f"__{mode}_sync"
    names = {"match": "__match_any_sync", "redux": "__reduce_add_sync", "bar": "__syncwarp", "barrier": "__syncwarp"}
    return names.get(i.opcode, ".".join((i.opcode, *i.modifiers[:1])))


def _mask_and_active(g: Group, lane: int) -> tuple[int, int]:
    """The member mask of a lane, and who of its warp is here with the same. `lane`: row of the group; of a regular one, in the first block."""
    mask = g.code.mask(g.pc)
    values = np.broadcast_to(to_array(mask if mask.__class__ is int else mask(g), 32), g.shape)[:, 0]
    here = g.rows[(g.rows >> 5 == g.rows[lane] >> 5) & (values == values[lane]) & (g.cols == g.cols[lane] if g.cols is not None else True)]
    return int(values[lane]), int(sum(1 << int(r & 31) for r in here))


def unlike_masks(faults: Faults, g: Group, masks: ndarray, present: ndarray, unlike: ndarray) -> None:
    """Lanes met others that they name, but with other masks: kept for the message, if they wait in vain. All arrays (warps, 32, blocks)."""
    warp, lane, column = (int(k) for k in np.argwhere(unlike)[0])
    mine = int(masks[warp, lane, column])
    others = [j for j in range(32) if mine >> j & 1 and present[warp, j, column] and masks[warp, j, column] != mine]
    faults.unlike_masks.setdefault((g.code.number, g.pc, mine), int(masks[warp, others[0], column]))


def missing_lanes(faults: Faults, g: Group) -> None:
    """A warp-wide instruction names lanes that will never come to it."""
    if not faults.machine.check or met_ahead(g):
        return
    if warpgroup_wide(g):
        from .wgmma import incomplete

        incomplete(faults, g)
        return
    if for_whole_warps(g.code.blocks[g.pc].instructions[0]):
        part_of_a_warp(faults, g)
        return
    finding = missing(faults, g)
    if finding is not None:
        faults.add(finding)


def missing(faults: Faults, g: Group) -> Finding | None:
    """What to say of a group that waits for lanes which its masks name; None where nobody lacks."""
    warps = g.rows >> 5 if g.cols is None else (g.rows >> 5) * g.batch.B + g.cols
    mask = g.code.mask(g.pc)
    masks = np.broadcast_to(to_array(mask if mask.__class__ is int else mask(g), 32), g.shape)[:, 0]  # of a warp's halves, say, each its own
    for lane in np.sort(np.unique(np.stack([warps, masks]), axis=1, return_index=True)[1]).tolist():
        named, active = _mask_and_active(g, lane)
        if named & ~active:
            thread, block = faults.lane(g, lane if g.cols is not None else lane * g.batch.B)
            facts: dict[str, Any] = {"operation": warp_operation(faults, g), "elsewhere": _waits_elsewhere(faults, g, lane, named & ~active)}
            facts["other_mask"] = faults.unlike_masks.get((g.code.number, g.pc, named))
            return explain.warp_mask(line=faults.pc_line(g), thread=thread, block=block, mask=named, active=active, **facts)
    return None


def kind_of(g: Group) -> tuple:
    """What the warp-wide instruction at which the group stands has in common with those that it can meet."""
    i = g.code.blocks[g.pc].instructions[0]
    return i.opcode, i.modifiers


def met_ahead(g: Group, left: bool = False) -> bool:
    """Whether lanes of a warp that is here had met at shuffles one of which lies ahead of the other, and some wait at another such shuffle: this is told.

    `left`: only if those who are here do, and name who has left.
    """
    batch, told = g.batch, False
    for (warp, column), (finding, kind) in sorted(batch.met_ahead.items(), key=lambda x: x[0]):
        lanes = _of_warp(g, warp, column)
        if left:
            guilty = kind == kind_of(g) and lanes.any() and _names_who_left(g, lanes, warp, column)
        else:
            wait = [x for x in batch.groups if x.waits in ("warp", "forced") and kind_of(x) == kind]
            guilty = lanes.any() and any(_of_warp(x, warp, column).any() for x in wait)
        if guilty:
            batch.machine.faults.add(finding)
            del batch.met_ahead[warp, column]
            told = True
    return told


def _of_warp(g: Group, warp: int, column: int) -> ndarray:
    return (g.rows >> 5 == warp) & (True if g.cols is None else g.cols == column)


def _names_who_left(g: Group, lanes: ndarray, warp: int, column: int) -> bool:
    """Whether masks of these lanes of the group, which are of one warp, name one that has ended."""
    mask = g.code.mask(g.pc)
    masks = np.broadcast_to(to_array(mask if mask.__class__ is int else mask(g), 32), g.shape)[lanes, column if g.cols is None else 0]
    gone = np.flatnonzero(g.batch.exited[32 * warp : 32 * warp + 32, column])
    return any(int(m) >> k & 1 for m in np.unique(masks).tolist() for k in gone.tolist())


def part_of_a_warp(faults: Faults, g: Group) -> None:
    """Lanes are at a barrier to which all of their warp come together, and the others are elsewhere, or went past it and have left."""
    batch = g.batch
    columns = range(batch.B) if g.cols is None else sorted(set(g.cols.tolist()))
    for column in columns:
        rows = g.rows if g.cols is None else g.rows[g.cols == column]
        for warp in np.unique(rows >> 5).tolist():
            here = rows[rows >> 5 == warp]
            others = np.setdiff1d(np.arange(warp * 32, min(warp * 32 + 32, batch.T)), here)
            awaited, left = others[~batch.exited[others, column]], _went_past(g, column)[others]
            places = [(g, here)]
            facts: dict[str, Any] = {"left": others[left].tolist()}
            for x in batch.groups if len(awaited) else ():
                there = np.intersect1d(awaited, x.rows if x.cols is None else x.rows[x.cols == column])
                if not len(there) or x is g:
                    continue
                if _at_a_barrier(x):
                    places.append((x, there))
                else:
                    facts |= {"left": there.tolist(), "left_line": faults.pc_line(x)}
            if not facts["left"] and all(x.waits == "forced" for x, _ in places[1:]):
                continue  # told where these came
            facts |= {"block": faults.block(int(batch.ids[column])), "thread": faults.thread(int(here[0])), "next_step": named_barriers.whole_warps(g)}
            faults.add(
                explain.barrier_divergence(
                    lines=[faults.pc_line(x) for x, _ in places], threads=[there.tolist() for _, there in places], **facts,
                    arrives=tuple("arrive" in x.code.blocks[x.pc].instructions[0].modifiers for x, _ in places),
                )
            )  # fmt: skip
            return


def _at_a_barrier(g: Group) -> bool:
    """Whether the group waits at a barrier of the block or the cluster."""
    i = g.code.blocks[g.pc].instructions[0]
    return bool(g.waits) and i.opcode in ("bar", "barrier") and "warp" not in i.modifiers


def _went_past(g: Group, column: int) -> ndarray:
    """Which threads of a block ran code behind the place where the group stands, and have gone."""
    code, pc = (g.frames[0].code, g.frames[0].pc) if g.frames else (g.code, g.pc)
    behind = code.graph.behind(pc) - (frozenset() if g.frames else {pc})
    return g.batch.exited[:, column] & np.isin(g.batch.last_pc[:, column], list(behind))


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
    named_barriers.reduced_and_arrived(batch, waiting)
    if batch.gone_past and waiting[0].held.count is None and not waiting[0].held.id:
        gone_past.met(batch, waiting)
    places = {(g.code.number, g.pc) for g in waiting}
    if len(places) > 1:
        advice = named_barriers.apart(waiting) if waiting[0].held.id else ""
        if not advice and waiting[0].held.id:
            return  # the number names the barrier, wherever they come to it
        lines: dict[tuple[int, int], int | None] = {}
        threads: dict[tuple[int, int], set[int]] = {}
        for g in waiting:
            lines[g.code.number, g.pc] = faults.pc_line(g)
            threads.setdefault((g.code.number, g.pc), set()).update(g.rows.tolist())
        block, thread = faults.block(int(batch.ids[0])), faults.thread(int(waiting[0].rows[0]))
        faults.add(
            explain.barrier_divergence(
                lines=list(lines.values()), threads=[sorted(rows) for rows in threads.values()], block=block, thread=thread, next_step=advice
            )
        )
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
    column = int(g.cols[0]) if g.cols is not None else 0
    block = faults.block(int(batch.ids[column]))
    threads = sorted({int(r) for r in g.rows})
    if g.held.count is not None:
        arrived = int(come(batch, g.held.id, [x for x in waiting if x.held.id == g.held.id])[column])
        faults.add(
            explain.named_barrier_deadlock(
                line=faults.pc_line(g), threads=threads, block=block, barrier=g.held.id, expected=g.held.count, arrived=arrived,
                thread=faults.thread(threads[0]), alone=named_barriers.completed_alone(batch, g.held.id),
                lacking=named_barriers.lacking(batch, g.held.id, column), elsewhere=named_barriers.elsewhere(batch, g.held.id, column),
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
