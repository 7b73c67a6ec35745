"""Reads of shared memory by the asynchronous proxy: bulk and tensor copies read it, and wgmma does. What copies write there: see proxy_writes.

Words are numbered in units of 4 bytes, the same in every block of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain_async
from ..values import ndarray
from ..words import Dim3
from . import mbarrier, proxy_fences
from .proxy_fences import KEPT, Fence

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from .async_copy import Bulk, Watched


@dataclass(frozen=True, slots=True)
class Read:
    """A read that is under way: the instruction, the threads that issued it (in their cluster), the words, the blocks (None: all of the batch)."""

    iid: int
    people: ndarray
    words: ndarray
    columns: ndarray | None

    def part(self, keep: ndarray) -> Read | None:
        """What of it the blocks `keep` do."""
        if self.columns is None:
            return self
        here = np.flatnonzero(np.isin(keep, self.columns))
        return Read(self.iid, self.people, self.words, here) if len(here) else None


def watched(batch: Batch) -> Watched:
    """The batch's check of shared memory, watching asynchronous operations from now on."""
    from .async_copy import Watched

    if batch.shared_check.__class__ is not Watched:
        batch.shared_check = Watched(batch.shared_check, batch)
    return batch.shared_check


# ------------------------------------------------------------------------------------------------ fences


def fence(g: Group, generic: bool, space: str) -> None:
    """fence.proxy.async (`generic`) for a space ("": all), or fence.mbarrier_init: barriers known here are now visible to copies too."""
    batch = g.batch
    if batch.happened is None:
        return
    batch.time += 1
    people = batch.happened.people(g)
    if generic:
        check = watched(batch)
        for who in people.tolist():
            check.fences[who] = (*check.fences.get(who, ())[1 - KEPT :], Fence(batch.time, batch.last_sync, batch.happened.times(who), space))
    if batch.mbarriers is not None:
        for b in batch.mbarriers.at.values():
            _, row, time = b.init
            if not b.visible:
                init = people // batch.T * batch.T + row
                b.visible = time < batch.last_sync or bool(batch.happened.knows(people, init, np.full(len(people), time)).any())


# ------------------------------------------------------------------------------------------------ a read under way


def begin_read(g: Group, iid: int, words: ndarray) -> int:
    """The lanes of g issue an instruction that reads these words (each named once) until `end_read`. Returns a ticket."""
    batch = g.batch
    if not batch.machine.check or not len(words):
        return 0
    check = watched(batch)
    people = batch.happened.people(g) if batch.happened is not None else np.unique(g.rows)
    columns = columns_of(g)
    index = check.words_of(words)
    at = check.at(index, columns)
    check.check.partial_sync()
    _set(check, g, iid, index, columns)
    for rank in range(batch.machine.cluster):
        mine = people[people // batch.T == rank]
        if len(mine):
            here = check.flight[at]
            _landed(check, g, iid, index, here if here.ndim == 1 else here[:, _of_rank(batch, columns, rank)], mine)
            if check.generic is not None:
                tags = check.generic[at]
                _fenced(check, g, iid, index, tags if tags.ndim == 1 else tags[:, _of_rank(batch, columns, rank)].max(axis=1), mine)
    check.check.used[index] = True
    if check.reading is None:
        check.reading = np.zeros(len(check.flight), np.int16)
    check.reading[index] += 1
    check.tickets += 1
    check.reads[check.tickets] = Read(iid, people, index, columns)
    return check.tickets


def _of_rank(batch: Batch, columns: ndarray | None, rank: int) -> ndarray:
    """Which of the columns are blocks of that rank."""
    size = batch.machine.cluster
    return np.flatnonzero((np.arange(batch.B) if columns is None else columns) % size == rank)


def columns_of(g: Group) -> ndarray | None:
    """The blocks whose lanes are in a group; None for all of the batch."""
    if g.cols is None or g.batch.B == 1:
        return None
    columns = np.unique(g.cols)
    return None if len(columns) == g.batch.B else columns


def end_read(batch: Batch, ticket: int) -> None:
    """The threads that issued the read have waited for it: they have read, now."""
    check = batch.shared_check
    read = check.reads.pop(ticket, None) if ticket else None
    if read is None:
        return
    check.reading[read.words] -= 1
    check.check.partial_sync()
    # One read by all of them, as far as order goes: each knows that it is over
    row = int(read.people[0]) % batch.T
    check.check.records.read_now(read.words, row, read.iid, read.columns)
    batch.time += 1
    happened = batch.happened
    if happened is None or len(read.people) == 1:
        return
    for rank in np.unique(read.people // batch.T).tolist():
        over = happened.nothing()
        over[rank * batch.T + row] = batch.time
        happened.acquire(read.people[read.people // batch.T == rank], over)


# ------------------------------------------------------------------------------------------------ parts of a read


def _set(check: Watched, g: Group, iid: int, index: ndarray, columns: ndarray | None) -> None:
    known = check.check.known[index]
    known = known if known.ndim == 1 else (known if columns is None else known[:, columns]).all(axis=1)
    if known.all():
        return
    bad = np.flatnonzero(~known)
    grain = check.check.grain
    faults = check.check.machine.faults
    thread, block = faults.lane(g, 0)
    check.check._unset(g, iid, thread, block, int(index[bad[0]]) * grain, index[bad] * grain, "read")


def _landed(check: Watched, g: Group, iid: int, index: ndarray, here: ndarray, people: ndarray) -> None:
    """Copies into these words must have been seen by the threads that issue the read."""
    if not here.any() or check._all_seen(here, people):
        return
    flat = here if here.ndim == 1 else np.where((here > 0).any(axis=1), here.max(axis=1), here.min(axis=1))
    for who in people.tolist():
        lanes = np.flatnonzero(check.unseen(flat, np.full(len(flat), who)))
        if len(lanes):
            lane = int(np.flatnonzero(g.rows == who % g.batch.T)[0]) * (g.batch.B if g.cols is None else 1)
            offset = int(index[lanes[0]]) * check.check.grain
            serial = int(flat[lanes[0]])
            if serial < 0:
                too_early(check, g, iid, check.bulk[-serial], np.full(len(lanes), lane), offset, "read", who)
            return


def _fenced(check: Watched, g: Group, iid: int, index: ndarray, tags: ndarray, people: ndarray) -> None:
    """What threads wrote must be ordered before the read, and a proxy fence must stand between."""
    if check.batch.happened is None:
        return
    found = proxy_fences.missing(check, tags, people)
    if found is not None:
        k, writer, site, ordered = found
        _unfenced(check, g, iid, int(index[k]) * check.check.grain, writer % check.batch.T, site, ordered)


def overwritten(check: Watched, g: Group, iid: int, index: ndarray, how: str, columns: ndarray | None, row: int | None = None) -> None:
    """Somebody writes, in the blocks `columns` (None: all), what the asynchronous proxy may still read there. `row`: a copy of that thread does."""
    assert check.reading is not None
    bad = index[check.reading[index] > 0]
    here = [r for r in check.reads.values() if columns is None or r.columns is None or np.isin(columns, r.columns).any()]
    read = next((r for r in here if np.isin(bad, r.words).any()), None)
    if read is None:
        return
    faults, site = check.check.machine.faults, check.check.machine.program.sites[read.iid]
    thread, block = issuer(check, row) if row is not None else faults.lane(g, 0)
    where = place(check, iid, int(bad[np.isin(bad, read.words)][0]) * check.check.grain)
    faults.add(
        explain_async.still_read(
            **where, thread=thread, block=block, access="copy" if row is not None else how, at=mbarrier.on_line(check.batch, iid), other_line=site.line,
            wgmma=site.instruction.opcode == "wgmma",
        )
    )  # fmt: skip


def unfinished(check: Watched) -> None:
    """The blocks have ended: a bulk store that still reads their shared memory, or a copy that still writes it, must not be left."""
    batch, machine = check.batch, check.check.machine
    if any(f.kind == "deadlock" for f in machine.faults.found.values()):
        return
    for r in [r for r in check.reads.values() if machine.program.sites[r.iid].instruction.opcode == "cp"][:1]:
        thread, block = issuer(check, int(r.people[0]) % batch.T)
        where = place(check, r.iid, int(r.words[0]) * check.check.grain)
        machine.faults.add(explain_async.store_left(**where, thread=thread, block=block, at=mbarrier.on_line(batch, r.iid)))
    mbarrier.arrivals_too_late(batch)
    mbarrier.sources_gone(batch)
    for b in batch.mbarriers.at.values() if batch.mbarriers is not None else ():
        bulk = next((x for x in reversed(check.bulk) if x.offset == b.offset and x.iid >= 0), None)
        if b.data and bulk is not None:
            thread, block = issuer(check, bulk.row)
            where = place(check, bulk.iid, int(np.ravel(b.data[0][1].words)[0]) * 4)
            facts: dict[str, Any] = {"at": mbarrier.on_line(batch, bulk.iid), "mbarrier": mbarrier.name_at(batch, b.offset), "phase": bulk.phase}
            machine.faults.add(explain_async.copy_left(**where, thread=thread, block=block, **facts))
            return


# ------------------------------------------------------------------------------------------------ findings


def place(check: Watched, iid: int, offset: int) -> dict[str, Any]:
    """The element of shared memory at an offset, and the line, as the messages want them."""
    name, index, _, _, dims = check.check.machine.faults.shared_at(iid, offset)
    return {"array": name, "index": index, "dims": dims, "line": check.check.machine.faults.line(iid)}


def issuer(check: Watched, row: int) -> tuple[Dim3, Dim3]:
    faults = check.check.machine.faults
    return faults.thread(row), faults.block(int(check.batch.ids[0]))


def too_early(check: Watched, g: Group, iid: int, bulk: Bulk, lanes: ndarray, offset: int, how: str, who: int) -> None:
    """A thread touches what a bulk copy brings before it has seen the copy's phase."""
    batch, faults = check.batch, check.check.machine.faults
    where = place(check, iid, offset)
    found = faults.seen("async-copy", where["array"], where["line"])
    if found is not None:
        found.count += len(lanes)
        return
    thread, block = faults.lane(g, int(lanes[0]))
    b = batch.mbarriers.at.get(bulk.offset)
    faults.add(
        explain_async.before_its_phase(
            **where, thread=thread, block=block, access=how, copy_at=mbarrier.on_line(batch, bulk.iid), mbarrier=mbarrier.name_at(batch, bulk.offset),
            phase=bulk.phase, seen=int(batch.happened.seen(np.array([who]), bulk.slot)[0]) if batch.happened is not None else 0,
            complete=b is not None and int(b.phase.max()) > bulk.phase, count=len(lanes),
        )
    )  # fmt: skip


def _unfenced(check: Watched, g: Group, iid: int, offset: int, writer: int, site: int, ordered: bool) -> None:
    """The asynchronous proxy reads what thread `writer` wrote at `site`."""
    faults, sites = check.check.machine.faults, check.check.machine.program.sites
    thread, block = faults.lane(g, 0)
    faults.add(
        explain_async.missing_proxy_fence(
            **place(check, iid, offset), thread=thread, block=block, at=mbarrier.on_line(check.batch, iid), wgmma=sites[iid].instruction.opcode == "wgmma",
            other_thread=faults.thread(writer), other_line=sites[site].line if site < len(sites) else None, ordered=ordered,
        )
    )  # fmt: skip
