"""Bulk and tensor copies lane by lane: who issues one, which blocks get its data, and how this comes to their shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import clusters
from ..access import lanes_group
from ..checks import mbarrier as barrier_check
from ..checks.cluster import no_such_rank
from ..checks.proxy_writes import begin_write
from ..group import Group
from ..mbarriers import Barrier, barriers
from ..values import full, i64, ndarray
from .mbarrier import known


@dataclass(frozen=True, slots=True)
class Lane:
    """One thread of some blocks, whose copy has the same place in shared memory in all of them. `free` are values that differ, one a block."""

    g: Group
    row: int
    columns: ndarray  # block columns
    everywhere: bool  # all columns of the batch
    fixed: tuple[int, ...]
    free: tuple[ndarray, ...]


def lanes(g, fixed: tuple, free: tuple) -> Iterator[Lane]:
    """The lanes of a group, one thread after the other."""
    batch = g.batch
    table = [np.broadcast_to(np.asarray(full(x)).astype(i64), g.shape) for x in (*fixed, *free)]
    B, n = batch.B, len(fixed)
    if g.cols is None:
        for k, row in enumerate(g.rows.tolist()):
            values = [t[k] for t in table]
            keys = np.stack(values[:n]) if n else np.zeros((1, B), i64)
            if batch.machine.cluster == 1 and (keys == keys[:, :1]).all():
                one = Group(batch, g.rows[k : k + 1], None, g.pc, [], g.code)
                yield Lane(one, row, np.arange(B), True, tuple(int(x[0]) for x in values[:n]), tuple(values[n:]))
                continue
            for column in range(B):
                one = lanes_group(g, np.array([k * B + column]))
                yield Lane(one, row, np.array([column]), False, tuple(int(x[column]) for x in values[:n]), tuple(x[column : column + 1] for x in values[n:]))
        return
    for k, (row, column) in enumerate(zip(g.rows.tolist(), g.cols.tolist(), strict=True)):
        one = lanes_group(g, np.array([k]))
        yield Lane(one, row, np.array([column]), B == 1, tuple(int(t[k, 0]) for t in table[:n]), tuple(t[k] for t in table[n:]))


def one_block(lane: Lane, k: int) -> Group:
    """The lane in one of its blocks."""
    return lanes_group(lane.g, np.array([k])) if len(lane.columns) > 1 else lane.g


# ------------------------------------------------------------------------------------------------ to shared memory


@dataclass(eq=False, slots=True)
class Landing:
    """Data on its way to shared memory: 32-bit words × blocks (one column: the same in every block)."""

    words: ndarray
    data: ndarray
    blocks: ndarray | None  # None: all of the batch

    def columns(self, keep: ndarray, renumber: bool = True) -> Landing:
        """What goes to the blocks `keep`, which are in order; `renumber`: they make up a batch of their own."""
        if self.blocks is None:
            return Landing(self.words, self.data if self.data.shape[1] == 1 else self.data[:, keep], None if renumber else keep)
        here = np.flatnonzero(np.isin(self.blocks, keep))
        data = self.data if self.data.shape[1] == 1 else self.data[:, here]
        return Landing(self.words, data, np.searchsorted(keep, self.blocks[here]) if renumber else self.blocks[here])

    def land(self, batch) -> None:
        if self.blocks is None:
            batch.shared.words[self.words] = self.data
        elif len(self.blocks):
            batch.shared.words[self.words[:, None], self.blocks] = self.data
        batch.machine.stores += 1


def arriving(lane: Lane, iid: int, address: int, receivers: list[ndarray], multicast: bool) -> Barrier | None:
    """The mbarrier that a copy names, in the blocks that get its data; None, with a finding, where there is none."""
    batch = lane.g.batch
    b = None
    barrier, columns = local(lane, address)
    if not multicast and batch.machine.check and (columns != receivers[0]).any():
        barrier_check.in_another_block(lane.g, iid, barrier, int(columns[0]), int(receivers[0][0]))
    for there in receivers:
        part = lane.g if lane.everywhere else Group(batch, np.full(len(there), lane.row), there, lane.g.pc, [], lane.g.code)
        b = known(lane.g, part, iid, barrier, "names", None if lane.everywhere else lane.columns)
        if b is None:
            return None
    if b is not None and lane.g.batch.machine.check:
        barrier_check.visible(lane.g.batch, lane.g, iid, b)
    return b


def local(lane: Lane, address: int) -> tuple[int, ndarray]:
    """A shared::cluster address as an offset, and the columns of the blocks that it lies in."""
    offsets, columns = clusters.local(lane.g.batch, np.full(len(lane.columns), address), lane.columns)
    return int(offsets[0]), columns


def receivers(lane: Lane, iid: int, columns: ndarray, mask: int | None) -> list[ndarray]:
    """For each block of the cluster that a copy goes to, its columns. `mask`: the ranks of a multicast."""
    if mask is None:
        return [columns]
    batch = lane.g.batch
    if mask >> batch.machine.cluster:
        no_such_rank(lane.g, iid, mask.bit_length() - 1)
    return [clusters.peer_columns(batch, lane.columns, rank) for rank in range(batch.machine.cluster) if mask >> rank & 1]


def deliver(
    lane: Lane, iid: int, b: Barrier | None, words: ndarray, data: ndarray, nbytes: int, columns: ndarray, swizzle: int = -1, element: str = ""
) -> None:
    """Data for shared memory of the blocks `columns`, and its bytes for their mbarriers. `data`: words × blocks, or one column for all of them."""
    batch = lane.g.batch
    everywhere = len(columns) == batch.B and bool((columns[1:] > columns[:-1]).all())
    landing = Landing(words, data, None if everywhere else columns)
    if b is None:
        landing.land(batch)
        return
    if not len(words):
        return
    if batch.machine.check:
        begin_write(lane.g, lane.row, iid, words, b, None if everywhere else columns, swizzle, element)
    phase = b.phase.copy()
    if not everywhere:
        phase[:] = -1
        phase[columns] = b.phase[columns]
    b.data.append((phase, landing))
    barriers(batch).bytes(b, -nbytes, slice(None) if everywhere else columns)
