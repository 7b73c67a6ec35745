"""Words of shared memory that asynchronous operations write or read: who may touch them, and when.

A word that a copy is under way to may be neither read nor written: with cp.async until the copy's thread has waited, with a bulk or tensor copy by
each thread until it has seen the phase of the copy's mbarrier complete, or has met somebody who has. A word that the asynchronous proxy reads (a
bulk store, wgmma) may not be written until those who issued it have waited. What threads write must pass a proxy fence before the asynchronous
proxy reads it (PTX ISA 8, "Memory Consistency Model", 8.9.1.1 on proxies).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access, explain, shared_access
from ..values import full, i64, ndarray
from . import mbarrier, proxy
from .races import SITE_MASK, SITE_SHIFT, TIME_MASK, TIME_SHIFT

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..instructions.copies import Copy
    from .shared import SharedCheck


BARRIER = 1 << 30  # stands in `flight` for the words of an mbarrier


@dataclass(frozen=True, slots=True)
class Bulk:
    """A copy that an mbarrier tells the end of."""

    iid: int
    row: int  # the thread that issued it, in its block
    slot: int  # of its mbarrier, see checks.happened
    phase: int
    offset: int  # of the mbarrier
    swizzle: int = -1  # of a tensor copy: its span, 0 for none
    element: str = ""  # and the PTX type of its elements


class Watched:
    """A shared-memory check that looks first whether an asynchronous operation is under way. Everything else goes to the check it stands before."""

    def __init__(self, check: SharedCheck, batch: Batch):
        self.check, self.batch = check, batch
        # What a copy wrote: serial of the cp.async that is under way to each word, −number of the bulk copy that wrote it; (words, B) once blocks differ
        self.flight = np.zeros(len(check.used), np.int32)
        self.bulk: list[Bulk] = [Bulk(-1, 0, 0, 0, 0)]
        self.reads: dict[int, proxy.Read] = {}  # reads of the asynchronous proxy under way, by ticket
        self.tickets = 0
        self.reading: ndarray | None = None  # how many of them, of any block, read each word
        self.generic = np.zeros(len(check.used), i64) if batch.machine.program.asynchronous else None  # last writer of each word: thread + 1, time, site
        self.fences: dict[int, tuple[proxy.Fence, ...]] = {}  # the last proxy fences of each thread

    def barrier_at(self, offset: int, live: bool) -> None:
        """The 8 bytes at an offset become an mbarrier, or cease to be one."""
        first, words = offset // self.check.grain, 8 // self.check.grain
        self.flight[first : first + words] = BARRIER if live else 0

    def finish(self) -> None:
        """The blocks have ended: so must have what was under way."""
        proxy.unfinished(self)
        self.check.finish()

    def __getattr__(self, name: str):
        return getattr(self.check, name)

    def columns(self, batch: Batch, keep: ndarray) -> Watched:
        other = Watched.__new__(Watched)
        other.check, other.batch = self.check.columns(batch, keep), batch
        other.flight = self.flight.copy() if self.flight.ndim == 1 else np.ascontiguousarray(self.flight[:, keep])
        other.bulk, other.fences, other.tickets = list(self.bulk), dict(self.fences), self.tickets
        other.reads = {ticket: part for ticket, part in ((t, read.part(keep)) for t, read in self.reads.items()) if part is not None}
        other.reading = self.reading
        if self.reading is not None:
            other.reading = np.zeros_like(self.reading)
            for read in other.reads.values():
                other.reading[read.words] += 1
        generic = self.generic
        other.generic = None if generic is None else generic.copy() if generic.ndim == 1 else np.ascontiguousarray(generic[:, keep])
        return other

    # ------------------------------------------------------------------ cp.async

    def start(self, copy: Copy) -> None:
        """A copy is issued. It may write from now on: what others did to these words since the last barrier is not ordered before it."""
        batch = self.batch
        g = copy.group(batch)
        p = shared_access.shared_pattern(batch.machine, g, copy.address, copy.size)
        if p is not None:
            self.write(g, copy.iid, p, copy.size, copy.words, 4)
        else:
            offsets, columns = self._lanes(g, copy)
            flat = [np.broadcast_to(full(x), g.shape).ravel() for x in copy.words]
            self.write_each(g, copy.iid, offsets, columns, copy.size, flat, 4)
        self._mark(copy, copy.serial)

    def end(self, copy: Copy) -> None:
        self._mark(copy, 0)

    def lands_with(self, copy: Copy, b) -> None:
        """A finished cp.async whose thread will arrive at mbarrier `b`: it is seen with that phase."""
        self.bulk.append(Bulk(copy.iid, int(copy.rows[0]), b.slot, int(b.phase.max()), b.offset))
        self._mark(copy, 1 - len(self.bulk))

    def _lanes(self, g: Group, copy: Copy) -> tuple[ndarray, ndarray]:
        return access.lanes_of(g, copy.address), np.broadcast_to(g.block_columns, g.shape).ravel()

    def _mark(self, copy: Copy, serial: int) -> None:
        batch = self.batch
        g = copy.group(batch)
        p = shared_access.shared_pattern(batch.machine, g, copy.address, copy.size)
        if p is not None:
            self.flight[self.check.range_of(p, copy.size)] = serial
            return
        self.spread()
        offsets, columns = self._lanes(g, copy)
        words = max(copy.size // self.check.grain, 1)
        self.flight[self.check._range(offsets, copy.size), np.repeat(columns, words)] = serial

    def spread(self) -> None:
        """From now on a column for each block."""
        if self.flight.ndim == 1:
            self.flight = np.repeat(self.flight[:, None], self.batch.B, axis=1)
        if self.generic is not None and self.generic.ndim == 1:
            self.generic = np.repeat(self.generic[:, None], self.batch.B, axis=1)

    # ------------------------------------------------------------------ bulk copies: see proxy

    def words_of(self, words: ndarray) -> ndarray:
        """Numbers of 32-bit words as numbers of the check's own words."""
        per = 4 // self.check.grain
        return words if per == 1 else (words[:, None] * per + np.arange(per)).ravel()

    def at(self, index: ndarray, columns: ndarray | None) -> Any:
        """The index of words in the blocks `columns` (None: all of the batch)."""
        if columns is None or len(columns) == self.batch.B:
            return index
        self.spread()
        return np.ix_(index, columns)

    # ------------------------------------------------------------------ accesses of threads

    def read(self, g: Group, iid: int, p, total: int, how: str = "read") -> None:
        self._look(g, iid, p, total, "read")
        self.check.read(g, iid, p, total, how)

    def write(self, g: Group, iid: int, p, total: int, values: tuple, size: int) -> None:
        self._look(g, iid, p, total, "write")
        self.check.write(g, iid, p, total, values, size)
        if self.generic is not None:
            self._written(g, iid, p.offsets, g.rows, total, None)

    def atomic(self, g: Group, iid: int, p, total: int, reads: bool = True) -> None:
        self._look(g, iid, p, total, "atomic")
        self.check.atomic(g, iid, p, total, reads)
        if self.generic is not None:
            self._written(g, iid, p.offsets, g.rows, total, None)

    def read_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str = "read") -> None:
        self._look_each(g, iid, offsets, columns, total, "read" if how == "strong" else how)
        self.check.read_each(g, iid, offsets, columns, total, how)

    def write_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, values: list, size: int) -> None:
        self._look_each(g, iid, offsets, columns, total, "write")
        self.check.write_each(g, iid, offsets, columns, total, values, size)
        if self.generic is not None:
            self._written(g, iid, offsets, np.repeat(g.rows, self.batch.B) if g.cols is None else g.rows, total, columns)

    def atomic_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, reads: bool) -> None:
        self._look_each(g, iid, offsets, columns, total, "atomic")
        self.check.atomic_each(g, iid, offsets, columns, total, reads)
        if self.generic is not None:
            self._written(g, iid, offsets, np.repeat(g.rows, self.batch.B) if g.cols is None else g.rows, total, columns)

    def _written(self, g: Group, iid: int, offsets, rows: ndarray, total: int, columns: ndarray | None) -> None:
        """Threads wrote through the generic proxy: no copy's data any more, and to be fenced before the asynchronous proxy reads it."""
        words = max(total // self.check.grain, 1)
        tags = (rows + 1) + i64(min(self.batch.time, TIME_MASK) << TIME_SHIFT | min(iid, SITE_MASK) << SITE_SHIFT)
        index = self.check._range(offsets, total)
        assert self.generic is not None
        if columns is not None and self.batch.B > 1:
            self.spread()
            index = index, np.repeat(columns, words)
        self.flight[index] = 0
        if index.__class__ in (int, slice):
            self.generic[index] = tags[-1]
            return
        tags = np.repeat(tags, words) if words > 1 else tags
        self.generic[index] = tags if self.generic[index].ndim == 1 else tags[:, None]

    # ------------------------------------------------------------------ looking

    def _look(self, g: Group, iid: int, p, total: int, how: str) -> None:
        index = self.check.range_of(p, total)
        if how != "read" and self.reading is not None and np.any(self.reading[index]):
            proxy.overwritten(self, g, iid, np.arange(len(self.flight))[index].ravel() if index.__class__ is not int else np.array([index]), how, None)
        here = self.flight[index]
        if not np.any(here):
            return
        B = self.batch.B
        words = max(total // self.check.grain, 1)
        if here.__class__ is ndarray and self._seen_by(here, g):
            return
        wide = np.asarray(here).reshape(-1, words, self.flight.size // len(self.flight))  # (lanes, words, blocks)
        table = np.where((wide > 0).any(axis=1), wide.max(axis=1), wide.min(axis=1))
        table = np.broadcast_to(table, (g.n, B)).ravel()
        offsets = np.repeat(np.broadcast_to(np.asarray(p.offsets), (g.n,)), B)
        self._report(g, iid, table, offsets, self._numbers(np.repeat(g.rows, B), np.tile(np.arange(B), g.n)), how)

    def _look_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str) -> None:
        words = max(total // self.check.grain, 1)
        index = self.check._range(offsets, total)
        if how != "read" and self.reading is not None and self.reading[index].any():
            proxy.overwritten(self, g, iid, index, how, np.unique(columns))
        here = self.flight[index] if self.flight.ndim == 1 else self.flight[index, np.repeat(columns, words)]
        if not here.any():
            return
        rows = self._numbers(np.repeat(g.rows, self.batch.B) if g.cols is None else g.rows, columns)
        if self.batch.machine.cluster == 1 and self._all_seen(here, g.rows):
            return
        table = here.reshape(-1, words)
        table = np.where((table > 0).any(axis=1), table.max(axis=1), table.min(axis=1))
        self._report(g, iid, table, offsets, rows, how)

    def _numbers(self, rows: ndarray, columns: ndarray) -> ndarray:
        happened = self.batch.happened
        return rows if happened is None else happened.of(rows, columns)

    def _seen_by(self, here: ndarray, g: Group) -> bool:
        """Whether the threads of a regular group have seen the copies into their own blocks."""
        size, T = self.batch.machine.cluster, self.batch.T
        if size == 1:
            return self._all_seen(here, g.rows)
        return all(self._all_seen(here if here.ndim == 1 else here[:, rank::size], rank * T + g.rows) for rank in range(size))

    def _all_seen(self, here: ndarray, people: ndarray) -> bool:
        """Whether all threads (numbers in their cluster) have seen all copies named in `here`; quick where there are few of them."""
        lo, hi = int(here.min()), int(here.max())
        happened = self.batch.happened
        if hi > 0 or happened is None:
            return False
        serials: Any = (lo,) if lo == hi else np.unique(here).tolist()
        return all(happened.all_have_seen(people, self.bulk[-s].slot, self.bulk[-s].phase) for s in serials if s)

    def unseen(self, serials: ndarray, people: ndarray) -> ndarray:
        """Lane by lane: whether the copy of that serial is still under way for the thread."""
        bad = serials > 0
        happened = self.batch.happened
        for s in np.unique(serials[serials < 0]).tolist():
            lanes = np.flatnonzero(serials == s)
            bulk = self.bulk[-s]
            if happened is not None:
                bad[lanes] = happened.seen(people[lanes], bulk.slot) <= bulk.phase
        return bad

    def not_known(self, serials: ndarray, source: int, rank: int) -> ndarray:
        """Word by word: whether the copy of that serial into a block `rank` is under way, as far as thread `source`, of any block, knows."""
        bad = serials > 0
        happened = self.batch.happened
        if happened is not None:
            known = happened.vectors[int(happened.which[source])]
            for s in np.unique(serials[serials < 0]).tolist():
                bad[serials == s] = known[happened.slot(self.bulk[-s].slot, rank)] <= self.bulk[-s].phase
        return bad

    def _report(self, g: Group, iid: int, serials: ndarray, offsets: ndarray, people: ndarray, how: str) -> None:
        """`serials`: for each lane of the flattened group the copy in its way, 0 for none."""
        faults = self.check.machine.faults
        lanes = np.flatnonzero(self.unseen(serials, people))
        if not len(lanes):
            return
        first = int(lanes[0])
        serial = int(serials[first])
        if serial < 0:
            proxy.too_early(self, g, iid, self.bulk[-serial], lanes, int(offsets[first]), how, int(people[first]))
            return
        if serial == BARRIER:
            mbarrier.touched(self.batch, g, iid, int(offsets[first]), how)
            return
        copy = next(c for c in self.batch.copies.pending if c.serial == serial)
        name, index, _, _, dims = faults.shared_at(iid, int(offsets[first]))
        thread, block = faults.lane(g, first)
        faults.add(
            explain.async_copy(
                array=name, index=index, thread=thread, block=block, line=faults.line(iid), copy_line=faults.line(copy.iid), access=how, dims=dims,
                waited=copy.waited, count=len(lanes),
            )
        )  # fmt: skip
