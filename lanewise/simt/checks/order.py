"""Happens-before through atomics and fences: locks, flags, "last block done".

A thread releases what it knows by an atomic (or volatile) write after a fence, and acquires it by an atomic (or volatile) read of the same word.
Knowledge is a table: for each block, up to which time the accesses of each of its threads are known to have happened. A block barrier joins what the
threads of a block know. A fence counts as a tick of the batch's time, so that an access after it isn't released with those before it.

Reading a flag is taken to be an acquire even without a fence behind it, and whatever the value: this errs on the quiet side.
So does the bound on what is kept: where very many threads release and acquire (`MOST`), everything counts as ordered from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..clusters import OFFSET, RANK_SHIFT
from ..memory import RANGE, WINDOWS
from ..values import Split, i64, ndarray, u64

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..machine import Machine
    from .races import Access

MOST = 2_000_000  # table entries learnt, about 128 bytes each
Knowledge = dict[int, ndarray]  # block → for each thread the time before which its accesses are known


class Order:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.active = False  # somebody has released something
        self.released: dict[tuple, tuple[Knowledge, Knowledge]] = {}  # word → (for everybody, for threads of the same block)
        self.known: dict[int, Knowledge] = {}  # thread → what it has acquired since its block's last barrier
        self.known_to_block: dict[int, Knowledge] = {}
        self.version: dict[tuple, int] = {}  # word → how often somebody released there
        self.seen: dict[tuple, int] = {}  # (thread, word) → the version this thread has acquired
        self.learnt = 0
        self.full = False  # too much to remember: all is taken to be ordered

    # ------------------------------------------------------------------ events

    def fence(self, g: Group, scope: str = "gpu") -> None:
        batch = g.batch
        if batch.fences is None:
            batch.fences = np.zeros((2, batch.T, batch.B), i64)  # [0]: device-wide fences, [1]: fences of any scope
        batch.time += 1
        where = (slice(None) if scope != "cta" else slice(1, 2), g.rows) if g.cols is None else (slice(None) if scope != "cta" else slice(1, 2), g.rows, g.cols)
        batch.fences[where] = batch.time

    def release(self, g: Group, address) -> None:
        batch = g.batch
        if batch.fences is None or not self.machine.check or self.full:
            return
        rows, columns, places = self._lanes(g, address)
        for row, column, place in zip(rows, columns, places, strict=True):
            wide, near = (self._bounds(batch, batch.fences[k, :, column], int(row), int(column)) for k in (0, 1))
            block = int(batch.ids[column])
            thread = block * batch.T + int(row)
            key = self._key(batch, int(place), int(column))
            everybody, neighbours = self.released.setdefault(key, ({}, {}))
            if wide is None and near is None:
                continue
            self.active = True
            self.version[key] = self.version.get(key, 0) + 1
            if wide is not None:
                self._join(everybody, {block: wide})
                for knowledge in (self.known.get(thread), self.known_to_block.get(block)):
                    if knowledge:
                        self._join(everybody, knowledge)
            if near is not None:
                self._join(neighbours, {block: near})
            if self.full:
                return

    def acquire(self, g: Group, address) -> None:
        if not self.active or self.full:
            return
        batch = g.batch
        rows, columns, places = self._lanes(g, address)
        for row, column, place in zip(rows, columns, places, strict=True):
            block = int(batch.ids[column])
            key, thread = self._key(batch, int(place), int(column)), block * batch.T + int(row)
            got = self.released.get(key)
            if got is None or self.seen.get((thread, key)) == self.version.get(key):
                continue  # a spinning reader learns nothing new
            self.seen[thread, key] = self.version[key]
            mine = self.known.setdefault(thread, {})
            self._join(mine, got[0])
            if block in got[1]:
                self._join(mine, {block: got[1][block]})
            if self.full:
                return

    def barrier(self, batch: Batch) -> None:
        """What one thread of a block knows, all know now."""
        if not self.known:
            return
        blocks = set(batch.ids.tolist())
        for thread in [t for t in self.known if t // batch.T in blocks]:
            self._join(self.known_to_block.setdefault(thread // batch.T, {}), self.known.pop(thread))
            if self.full:
                return

    def warps(self, g: Group) -> None:
        """A barrier of whole warps: what one lane of a warp knows, all know now."""
        if not self.known:
            return
        batch = g.batch
        rows, columns, _ = self._lanes(g, 0)
        threads = (batch.ids[columns] * batch.T + rows).tolist()
        warps = (batch.ids[columns] * batch.W + (rows >> 5)).tolist()
        self._share(threads, warps)

    def met(self, batch: Batch, members: ndarray) -> None:
        """Some threads of each block have met (see `partial_syncs` of a batch)."""
        if not self.known:
            return
        members = np.broadcast_to(members, (batch.T, batch.B)).astype(i64)
        rows, columns = np.nonzero(members)
        blocks = batch.ids[columns]
        self._share((blocks * batch.T + rows).tolist(), list(zip(blocks.tolist(), members[rows, columns].tolist(), strict=True)))

    def _share(self, threads: list[int], groups: list) -> None:
        """Threads of one group know what each of them knows."""
        together: dict[Any, Knowledge] = {}
        for thread, group in zip(threads, groups, strict=True):
            if thread in self.known:
                self._join(together.setdefault(group, {}), self.known[thread])
        for thread, group in zip(threads, groups, strict=True):
            if group in together and not self.full:
                self._join(self.known.setdefault(thread, {}), together[group])

    def cluster(self, batch: Batch, blocks: list[int]) -> None:
        """A barrier of a cluster: what its blocks did so far, and what they know, is known to all of them."""
        if self.full:
            return
        self.active = True
        together: Knowledge = {block: np.full(batch.T, batch.time, i64) for block in blocks}
        for block in blocks:
            self._join(together, self.known_to_block.get(block, {}))
        for block in blocks:
            self._join(self.known_to_block.setdefault(block, {}), together)

    def left(self, g: Group) -> None: ...

    # ------------------------------------------------------------------ the question

    def before(self, old: Access, new: Access, batch: Batch) -> bool:
        """Whether the access `old` is known to thread `new.thread`."""
        if self.full or not self.active:
            return self.full
        T = batch.T
        block, row = divmod(old.thread, T)
        for knowledge in (self.known.get(new.thread), self.known_to_block.get(new.thread // T)):
            if knowledge is not None and block in knowledge and knowledge[block][row] > old.time:
                return True
        return False

    # ------------------------------------------------------------------ parts

    @staticmethod
    def _bounds(batch: Batch, fences: ndarray, row: int, column: int) -> ndarray | None:
        """What a release by thread `row` of a block publishes of its block; None without a fence."""
        mine, last_sync = int(fences[row]), batch.last_sync
        if mine >= last_sync:  # a fence since the last barrier: all the block did before that barrier, and what I did before the fence
            bounds = np.full(len(fences), last_sync if last_sync > 1 else 0, i64)
            _met_before(batch, bounds, row, column, mine)
            bounds[row] = mine
            return bounds
        bounds = np.where(fences < last_sync, fences, 0)  # each thread's own fence, then the barrier
        return bounds if bounds.any() else None

    @staticmethod
    def _key(batch: Batch, place: int, column: int) -> tuple:
        """A word's name: shared memory is another one in each block, and an address may name another block of the cluster (see clusters)."""
        if place >> RANGE in WINDOWS:
            place -= WINDOWS[place >> RANGE]
        elif place >= 1 << 32:
            return (place,)
        size, rank = batch.machine.cluster, place >> RANK_SHIFT
        if 0 < rank <= size > 1:
            place, column = place & OFFSET, column // size * size + rank - 1
        return int(batch.ids[column]), place

    @staticmethod
    def _lanes(g: Group, address) -> tuple[ndarray, ndarray, ndarray]:
        address = address.full() if address.__class__ is Split else address
        places = np.broadcast_to(address, g.shape).ravel() if address.__class__ is ndarray else np.full(g.shape, address, u64).ravel()
        rows = np.repeat(g.rows, g.batch.B) if g.cols is None else g.rows
        columns = np.tile(np.arange(g.batch.B), g.n) if g.cols is None else g.cols
        return rows, columns, places

    def _join(self, mine: Knowledge, more: Knowledge) -> None:
        """Add what `more` knows. Equal tables stay one object, so that what is known already costs nothing."""
        for block, bounds in list(more.items()):
            have = mine.get(block)
            if have is bounds:
                continue
            if have is not None and (have >= bounds).all():
                continue
            self.learnt += 1
            if have is None or (bounds >= have).all():
                mine[block] = bounds
            else:
                mine[block] = np.maximum(have, bounds)
                self.learnt += len(bounds) // 16
        if self.learnt > MOST:
            self.full = True
            for table in (self.released, self.known, self.known_to_block, self.version, self.seen):
                table.clear()


def _met_before(batch: Batch, bounds: ndarray, row: int, column: int, fence: int) -> None:
    """Before its fence a thread met others, at a __syncwarp or a named barrier, who had met others: what all these did before that is published, too."""
    when = 0 if batch.warp_sync is None else int(batch.warp_sync[row, column % batch.warp_sync.shape[1]])
    warp = slice(row & ~31, (row & ~31) + 32)
    reached = np.zeros(len(bounds), bool)
    reached[row] = True
    if when < fence:
        bounds[warp] = np.maximum(bounds[warp], when)
    for time, members in reversed(batch.partial_syncs):
        if time >= fence:
            continue
        if time < when < fence:
            reached[warp] = True
        mine = members[:, column if members.shape[1] > 1 else 0]
        here = np.isin(mine, mine[reached & (mine != 0)])
        bounds[here] = np.maximum(bounds[here], time)
        reached |= here
