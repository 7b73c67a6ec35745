"""How lanes wait for each other at block barriers, numbered ones included. Who counts there: see arrivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrivals import alive, arrive, come, completed_alone, lanes_of, warps_of
from .checks import named_barriers, waiting
from .group import Group
from .meeting import member_mask, names_itself
from .shapes import take_rows
from .values import Split, full, ndarray, u32

if TYPE_CHECKING:
    from .batch import Batch


@dataclass(slots=True)
class Held:
    """What a group that waits at a block barrier brought with it."""

    id: int
    count: int | None  # threads the barrier waits for; None: all of the block
    how: str  # popc, and, or: a reduction of `predicate`
    predicate: Any
    slot: int | None  # register that gets the reduction
    next_pc: int

    def map(self, f) -> Held:
        return Held(self.id, self.count, self.how, f(self.predicate), self.slot, self.next_pc)

    def merged(self, other: Held, join) -> Held:
        predicate = None if self.predicate is None else join(self.predicate, other.predicate, "pred")
        return Held(self.id, self.count, self.how, predicate, self.slot, self.next_pc)


def barrier(batch: Batch, g: Group, id, count, mode: str, how: str, predicate, slot: int | None, next_pc: int) -> int:
    """`id` and `count` (None: all threads of the block) are the same in every lane, or the group parts by them."""
    for which, value in ((0, id), (1, count)):
        if value.__class__ in (ndarray, Split):
            if batch.machine.check:
                named_barriers.one_of_a_warp(batch, g, full(value), which == 1)
            return _barriers(batch, g, which, value, (id, count), mode, how, predicate, slot, next_pc)
    if batch.machine.check and (id or count is not None):
        named_barriers.used(batch, g, id, count, mode == "arrive")
    if mode == "arrive":
        arrive(batch, g, id, batch.machine.faults.pc_line(g))
        alone = id in batch.arrivals and batch.arrivals[id].alone
        batch.arrivals[id] = named_barriers.Arrivals(count, batch.machine.faults.pc_line(g), alone)
        if batch.happened is not None:
            told = batch.happened.released(batch.happened.people(g))
            batch.published[id] = np.maximum(batch.published.get(id, told), told)
        batch.machine.stores += 1
        release(batch, id, count)
        completed_alone(batch, id, count)
        return next_pc
    count = count or None  # 0 threads: all of the block
    if batch.machine.check and id in batch.arrived_on:
        named_barriers.twice(batch, g, id, warps_of(batch, lanes_of(batch, [g])))
    if g.whole and count in (None, 32 * batch.W) and len(batch.groups) == 1 and not batch.arrived:
        _completed(batch, None, batch.B, (g.code.number, g.pc))
        batch.gone_past.clear()
        if slot is not None:
            g.regs[slot] = _reduced(batch, [g], how, [predicate])[0]
        return next_pc
    g.waits, g.held = "barrier", Held(id, count, how, predicate, slot, next_pc)
    g.came_from = g.pc
    release(batch, id, count)
    return -1


def _barriers(batch: Batch, g: Group, which: int, value, operands: tuple, mode: str, how: str, predicate, slot: int | None, next_pc: int) -> int:
    """Lanes of one group that name different barriers: each set waits at its own."""
    other = operands[1 - which]
    if g.cols is None and all(x.__class__ not in (ndarray, Split) or full(x).shape[1] == 1 for x in (value, other, predicate)):
        return _barriers_of_rows(batch, g, which, full(value), other, mode, how, predicate, slot, next_pc)
    flat = g.flattened()
    values = np.broadcast_to(full(value), g.shape).reshape(-1)
    others = None if other.__class__ not in (ndarray, Split) else np.broadcast_to(full(other), g.shape).reshape(-1, 1)
    flags = None if predicate is None else np.broadcast_to(predicate, g.shape).reshape(-1, 1)
    parts = []
    for k in np.unique(values):
        index = np.flatnonzero(values == k)
        part = flat.taken(index)
        if len(index) == len(batch.ids) * len(np.unique(part.rows)):
            part.origin = np.unique(part.rows)
        rest = other if others is None else others[index]
        parts.append((part, (int(k), rest) if which == 0 else (rest, int(k)), None if flags is None else flags[index]))
    batch.replace(g, *(part for part, _, _ in parts))
    for part, (id, count), flag in parts:
        part.pc = g.pc
        following = barrier(batch, part, id, count, mode, how, flag, slot, next_pc)
        if following >= 0:
            part.pc = following
    return -1


def _barriers_of_rows(batch: Batch, g: Group, which: int, value: ndarray, other, mode: str, how: str, predicate, slot: int | None, next_pc: int) -> int:
    """The same where the operands are the same in every block: the group parts by threads alone."""
    values = np.broadcast_to(value, (g.n, 1))[:, 0]
    parts = []
    for k in np.unique(values):
        index = np.flatnonzero(values == k)
        pick = lambda x: x if x.__class__ not in (ndarray, Split) else np.broadcast_to(full(x), (g.n, 1))[index]  # noqa: E731,B023
        parts.append((g.taken(index), (int(k), pick(other)) if which == 0 else (pick(other), int(k)), None if predicate is None else pick(predicate)))
    if len(parts) == 1:
        id, count = parts[0][1]
        return barrier(batch, g, id, count, mode, how, predicate, slot, next_pc)
    batch.replace(g, *(part for part, _, _ in parts))
    for part, (id, count), flag in parts:
        following = barrier(batch, part, id, count, mode, how, flag, slot, next_pc)
        if following >= 0:
            part.pc = following
    return -1


def release(batch: Batch, id: int, count: int | None) -> bool:
    """Let the groups at barrier `id` go on if, in every block, enough threads have come."""
    parked = [g for g in batch.groups if g.waits == "barrier" and g.held.id == id]
    if not parked:
        return False
    total = come(batch, id, parked)
    need = alive(batch) if count is None else np.full(batch.B, count)
    done = total >= need
    if not done.any():
        return False
    if batch.machine.cluster > 1 and (not done.all() or _places(batch, parked)[1] is not None):
        return _release_some(batch, parked, done)
    if not done.all():
        if any(not g.waits and g.idle != batch.machine.stores for g in batch.groups):
            return False
        batch.split(done)
        return release(batch, id, count)
    if _parted_by_place(batch, parked):
        return release(batch, id, count)
    _let_go(batch, parked, id, count)
    return True


def _let_go(batch: Batch, parked: list[Group], id: int, count: int | None, some: ndarray | None = None) -> None:
    """The barrier is complete for these groups: in all blocks, or in the blocks `some`."""
    values = _results(batch, parked)
    all_come = count is None and id not in batch.arrived  # who has arrived may have left; with a count nobody who has is missed
    everyone = all_come or bool((lanes_of(batch, parked) | batch.exited)[:, slice(None) if some is None else some].all())
    if batch.machine.check:
        waiting.barrier_completed(batch.machine.faults, batch, parked, everyone and all_come)
        if count is not None:
            named_barriers.too_many(batch, id, count, parked, come(batch, id, parked))
    site, line = (parked[0].code.number, parked[0].pc), batch.machine.faults.pc_line(parked[0])
    for g, value in zip(parked, values, strict=True):
        if g.held.slot is not None:
            g.regs[g.held.slot] = value
        g.pc, g.waits, g.held = g.held.next_pc, "", None
    if some is None:
        batch.arrived.pop(id, None)
        batch.arriving.pop(id, None)
        batch.arrived_on.pop(id, None)
    else:
        for counts in (batch.arrived, batch.arriving, batch.arrived_on):
            if id in counts:
                counts[id] = np.where(some, counts[id].dtype.type(0), counts[id])
    told = batch.published.get(id)
    if told is not None and batch.happened is not None:  # in all blocks alike, see checks.happened
        for g in parked:
            batch.happened.acquire(batch.happened.people(g), told)
        if some is None or not batch.arrived[id].any():
            del batch.published[id]
    if everyone:
        gone = batch.exited if some is None else batch.exited & some
        batch.last_pc[gone] = -1  # who left before this barrier isn't missed at later ones
    met = np.zeros(batch.B, bool)
    for g in parked:
        met[slice(None) if g.cols is None else g.cols] = True
    _completed(batch, None if everyone and some is None and told is None else parked, int(met.sum()), site)
    if batch.happened is not None and count is not None:
        batch.last_met[id] = (batch.time, lanes_of(batch, parked), line)


def _release_some(batch: Batch, parked: list[Group], done: ndarray) -> bool:
    """Blocks of one cluster stay in one batch: those whose barrier is complete, at one place at a time, go on lane by lane."""
    here, _ = _places(batch, parked)
    id, count = parked[0].held.id, parked[0].held.count
    while done.any():
        chosen = done & (here == here[np.argmax(done)])
        going: list[Group] = []
        for g in [x for x in batch.groups if x.waits == "barrier" and x.held.id == id]:
            flat = g.flattened()
            index = np.flatnonzero(chosen[flat.cols])
            if not len(index):
                continue
            parts = [_held_part(flat, index)]
            if len(index) < flat.n:
                parts.append(_held_part(flat, np.flatnonzero(~chosen[flat.cols])))
            batch.replace(g, *parts)
            going.append(parts[0])
        _let_go(batch, going, id, count, chosen)
        done = done & ~chosen
    return True


def _held_part(flat: Group, index: ndarray) -> Group:
    """Some lanes of a group that waits at a barrier."""
    part = flat.taken(index)
    part.waits, part.held = flat.waits, flat.held.map(lambda v: take_rows(v, index))
    return part


def _places(batch: Batch, waiting: list[Group]) -> tuple[ndarray, ndarray | None]:
    """(for each block a number for the barriers at which its threads wait, which blocks are like the first; None if all are)."""
    places = {place: 1 << k for k, place in enumerate({(g.code.number, g.pc): None for g in waiting})}
    if len(places) == 1:
        return np.zeros(batch.B, int), None
    here = [0] * batch.B
    for g in waiting:
        for column in range(batch.B) if g.cols is None else set(g.cols.tolist()):
            here[column] |= places[g.code.number, g.pc]
    alike = np.array([x == here[0] for x in here])
    return np.array(here), None if alike.all() else alike


def _parted_by_place(batch: Batch, waiting: list[Group]) -> bool:
    """Blocks that wait at different barriers part, so that each barrier is dealt with for its own blocks; whether there were any."""
    alike = _places(batch, waiting)[1]
    if alike is None:
        return False
    batch.split(alike)
    return True


def _completed(batch: Batch, members: list[Group] | None, barriers: int, site: tuple[int, int] | None = None) -> None:
    """A barrier stands behind us: of the whole block, or of `members` only; `barriers` blocks were at it."""
    batch.machine.barriers += barriers
    if site is not None:
        batch.machine.barrier_sites[site] = batch.machine.barrier_sites.get(site, 0) + barriers
    batch.time += 1
    if members is None:
        batch.last_sync = batch.time
        batch.partial_syncs.clear()
        batch.shared_check.barrier()
        batch.machine.order.barrier(batch)
        if batch.happened is not None:
            batch.happened.barrier()
    else:
        mask = lanes_of(batch, members)
        batch.partial_syncs.append((batch.time, mask))
        batch.shared_check.partial_sync()
        batch.machine.order.met(batch, mask)
        if batch.happened is not None:
            batch.happened.blocks(batch.happened.members(mask))


def sync_warp(batch: Batch, g: Group) -> None:
    """__syncwarp: the lanes of the mask see each other's writes."""
    mask = member_mask(g)
    batch.time += 1
    if mask.__class__ is int and mask == 0xFFFFFFFF:
        if batch.warp_sync is None:
            batch.warp_sync = np.zeros((batch.T, batch.B), np.int64)
        batch.warp_sync[g.rows if g.cols is None else (g.rows, g.cols)] = batch.time
        batch.shared_check.warp_sync(g.whole)
        if batch.happened is not None:
            batch.happened.warps(batch.happened.people(g))
        batch.machine.order.warps(g)
        return
    met = np.zeros((batch.T, batch.B), np.uint16)  # a number for each mask of each warp: the first lane that it names
    bits = np.asarray(mask, np.int64)
    first = np.bitwise_count((bits & -bits) - 1).astype(np.int64)
    number = np.broadcast_to(np.where(names_itself(g, mask), (g.rows[:, None] >> 5 << 5) + first + 1, 0), g.shape)
    if g.cols is None:
        met[g.rows] = number
    else:
        met[g.rows, g.cols] = number[:, 0]
    batch.partial_syncs.append((batch.time, met))
    batch.shared_check.partial_sync()
    batch.machine.order.met(batch, met)
    if batch.happened is not None:
        for one in np.unique(number[number != 0]):
            batch.happened.warps(batch.happened.members(met == one))


def _results(batch: Batch, parked: list[Group]) -> list:
    """What each group at the barrier gets: the reduction of all predicates that came for the same one; None for who waits alone."""
    values: list[Any] = [None] * len(parked)
    for how in {g.held.how for g in parked if g.held.slot is not None}:
        chosen = [k for k, g in enumerate(parked) if g.held.how == how]
        for k, value in zip(chosen, _reduced(batch, [parked[k] for k in chosen], how, [parked[k].held.predicate for k in chosen]), strict=True):
            values[k] = value
    return values


def _reduced(batch: Batch, groups: list[Group], how: str, predicates: list) -> list:
    """Reduction of the predicates of all threads of each block, as each group's register value."""
    trues, all_true = np.zeros(batch.B, u32), np.ones(batch.B, bool)
    for g, p in zip(groups, predicates, strict=True):
        flags = np.broadcast_to(np.asarray(p), g.shape)
        if g.cols is None:
            trues += flags.sum(axis=0, dtype=u32)
            all_true &= flags.all(axis=0)
        else:
            trues += np.bincount(g.cols, weights=flags[:, 0], minlength=batch.B).astype(u32)
            all_true &= np.bincount(g.cols, weights=~flags[:, 0], minlength=batch.B) == 0
    value = trues if how == "popc" else all_true if how == "and" else trues > 0
    if batch.B == 1:
        one = int(value[0]) if how == "popc" else bool(value[0])
        return [one] * len(groups)
    return [value[None, :] if g.cols is None else value[g.cols][:, None] for g in groups]
