"""Who counts at a block barrier: warps, 32 threads each, whatever is alive of them.

Who executes a barrier waits "for all non-exited threads from its warp" first (PTX ISA 9.7.13.1). At barriers for whole warps meeting.together has seen to
that; to the others lanes may come one by one, and their warp counts with the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .checks import named_barriers
from .group import Group
from .values import ndarray

if TYPE_CHECKING:
    from .batch import Batch


def arrive(batch: Batch, g: Group, id: int, line: int | None) -> None:
    """Warps that are complete count; of others, who has arrived is kept until the rest of the warp has come or left. `line`: of the source."""
    at = g.rows if g.cols is None else (g.rows, g.cols)
    arriving = batch.arriving.pop(id, None)
    if arriving is None:
        arriving = np.zeros((batch.T, batch.B), bool)
    arriving[at] = True
    complete = warps_of(batch, arriving)
    if batch.machine.check:
        if id in batch.arrived_on:
            named_barriers.twice(batch, g, id, complete)
        before = batch.arrived_on.get(id, np.zeros(complete.shape, int))
        batch.arrived_on[id] = np.where(complete, line or -1, before)
    batch.arrived[id] = batch.arrived.get(id, np.zeros(batch.B, int)) + 32 * complete.sum(axis=0)
    arriving &= ~np.repeat(complete, 32, axis=0)[: batch.T]
    if arriving.any():
        batch.arriving[id] = arriving


def completed_alone(batch: Batch, id: int, count: int) -> None:
    """Arrivals complete a barrier at which nobody waits, too: it begins anew."""
    arrived = batch.arrived.get(id)
    if arrived is None or not (arrived >= count).any():
        return
    waiting = lanes_of(batch, [x for x in batch.groups if x.waits == "barrier" and x.held.id == id]).any(axis=0)
    full = (arrived >= count) & ~waiting
    if full.any():
        batch.arrived[id] = np.where(full, arrived % max(count, 1), arrived)
        batch.arrivals[id].alone = True
        if id in batch.arrived_on:
            batch.arrived_on[id] = np.where(full, 0, batch.arrived_on[id])
        if not batch.arrived[id].any():
            batch.published.pop(id, None)


def come(batch: Batch, id: int, parked: list[Group]) -> ndarray:
    """How many threads count at barrier `id` in every block, if the groups `parked` wait there."""
    here = lanes_of(batch, parked)
    if id in batch.arriving:
        here |= batch.arriving[id]
    return 32 * warps_of(batch, here).sum(axis=0) + batch.arrived.get(id, 0)


def alive(batch: Batch) -> ndarray:
    """Threads of the warps that have not left, in every block."""
    return 32 * warps_of(batch, ~batch.exited).sum(axis=0)


def warps_of(batch: Batch, here: ndarray) -> ndarray:
    """Warps (× blocks) some of whose threads are here and all others of which have left. `here`: threads × blocks."""
    settled = here | batch.exited
    if batch.T % 32:  # lanes beyond the block count as gone
        beyond = np.zeros((batch.W * 32 - batch.T, batch.B), bool)
        here, settled = np.concatenate([here, beyond]), np.concatenate([settled, ~beyond])
    warps = (batch.W, 32, batch.B)
    return np.logical_or.reduce(here.reshape(warps), axis=1) & np.logical_and.reduce(settled.reshape(warps), axis=1)


def lanes_of(batch: Batch, groups: list[Group]) -> ndarray:
    """The lanes of the groups, threads × blocks."""
    mask = np.zeros((batch.T, batch.B), bool)
    for g in groups:
        mask[g.rows if g.cols is None else (g.rows, g.cols)] = True
    return mask
