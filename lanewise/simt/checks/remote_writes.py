"""Writes of shared memory by st.async and red.async: each lane writes a few words, most often of another block. Copies of one thread: see proxy_writes.

A store is under way until a thread has seen the phase of its mbarrier, and all earlier accesses to its words must be ordered before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import explain_async, explain_cluster
from ..mbarriers import Barrier
from ..values import ndarray
from . import mbarrier
from .async_copy import BARRIER, Bulk
from .proxy import overwritten, place, watched
from .races import ATOMIC, TIME_MASK, TIME_SHIFT, WHO, unpack

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from .async_copy import Watched


@dataclass(frozen=True, slots=True)
class Lanes:
    """Who stores where, lane by lane: thread and block, its number in the cluster (see happened), the check's words and the block they lie in."""

    rows: ndarray
    columns: ndarray
    people: ndarray
    words: ndarray  # (lanes, words)
    blocks: ndarray  # (lanes, 1)


def begin_stores(g: Group, iid: int, b: Barrier | None, rows: ndarray, columns: ndarray, words: ndarray, blocks: ndarray, reduces: bool) -> None:
    """Threads `rows` of the blocks `columns` store to 32-bit words (lanes, words) of the blocks `blocks`; `b` tells the end. `reduces`: red.async."""
    batch = g.batch
    check = watched(batch)
    check.check.partial_sync()
    check.spread()
    check.check._spread_known()
    people = batch.happened.of(rows, columns) if batch.happened is not None else rows
    to = Lanes(rows, columns, people, check.words_of(words.ravel()).reshape(len(words), -1), blocks[:, None])
    at = to.words, to.blocks
    _copies_under_way(check, g, iid, to, reduces)
    if check.reading is not None and check.reading[to.words].any():
        overwritten(check, g, iid, to.words.ravel(), "write", np.unique(blocks))
    _accesses_before(check, iid, to, reduces)
    check.check.known[at] = True
    check.check.used[to.words] = False
    check.check.stored_at[to.words] = iid
    if check.generic is not None:
        check.generic[at] = 0
    check.flight[at] = 0
    phases = b.phase[blocks] if b is not None else np.zeros(0, int)
    for phase in np.unique(phases).tolist():
        assert b is not None
        here = np.flatnonzero(phases == phase)
        check.bulk.append(Bulk(iid, int(rows[here[0]]), b.slot, phase, b.offset))
        check.flight[to.words[here], to.blocks[here]] = 1 - len(check.bulk)
    if not reduces:
        _twice(check, iid, to)


def _is_reduction(batch: Batch, iid: int) -> bool:
    return iid >= 0 and batch.machine.program.sites[iid].instruction.opcode == "red"


def _copies_under_way(check: Watched, g: Group, iid: int, to: Lanes, reduces: bool) -> None:
    """What an earlier copy or store brings to these words must be known to be there. Reductions may meet."""
    batch = check.batch
    here = check.flight[to.words, to.blocks]
    if (here == BARRIER).any():
        mbarrier.touched(batch, g, iid, int(to.words[here == BARRIER][0]) * check.check.grain, "copy")
    happened = batch.happened
    if happened is None:
        return
    ranks = to.blocks[:, 0] % batch.machine.cluster
    for serial in np.unique(here[here < 0]).tolist():
        bulk = check.bulk[-serial]
        if reduces and _is_reduction(batch, bulk.iid):
            continue
        lanes = np.flatnonzero((here == serial).any(axis=1))
        seen = np.array([happened.vectors[int(happened.which[to.people[k]])][happened.slot(bulk.slot, ranks[k])] for k in lanes.tolist()])
        late = lanes[seen <= bulk.phase]
        if len(late):
            _over(check, iid, bulk, to, int(late[0]), int(to.words[late[0]][here[late[0]] == serial][0]))
            return


def _accesses_before(check: Watched, iid: int, to: Lanes, reduces: bool) -> None:
    """Accesses of threads to these words must be ordered before the store, whose record ends theirs."""
    records, batch = check.check.records, check.batch
    if not len(records.writer):
        return
    records.spread()
    size, T = batch.machine.cluster, batch.T
    ranks = to.blocks % size
    own = to.people[:, None] // T == ranks
    for record, did in ((records.writer, "write"), (records.plain, "write"), (records.reader, "read"), (records.reader2, "read")):
        old = record[to.words, to.blocks]
        bad = old != 0
        if not bad.any():
            continue
        record[to.words, to.blocks] = 0
        if reduces:
            bad &= old & ATOMIC == 0
        bad &= ~(own & (old >> TIME_SHIFT & TIME_MASK < batch.last_sync))  # block barriers order nothing for another block
        lane, word = np.nonzero(bad)
        if len(lane) and batch.happened is not None:
            tags = old[lane, word]
            known = batch.happened.knows(to.people[lane], ranks[lane, 0] * T + (tags & WHO) - 1, tags >> TIME_SHIFT & TIME_MASK)
            lane, word = lane[~known], word[~known]
        if len(lane):
            _race(check, iid, to, int(lane[0]), int(word[0]), int(old[lane[0], word[0]]), did, len(lane))


def _twice(check: Watched, iid: int, to: Lanes) -> None:
    """Two lanes store to one word."""
    keys = (to.words * check.batch.B + to.blocks).ravel()
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if len(again):
        k = int(order[again[0] + 1])
        _over(check, iid, check.bulk[-1], to, k // to.words.shape[1], int(to.words.ravel()[k]))


# ------------------------------------------------------------------------------------------------ findings


def _race(check: Watched, iid: int, to: Lanes, lane: int, word: int, old: int, did: str, count: int) -> None:
    batch, faults, before = check.batch, check.check.machine.faults, unpack(old)
    sites = check.check.machine.program.sites
    faults.add(
        explain_cluster.far_race(
            **place(check, iid, int(to.words[lane, word]) * check.check.grain), owner=faults.block(int(batch.ids[to.blocks[lane, 0]])), access="write",
            thread=faults.thread(int(to.rows[lane])), block=faults.block(int(batch.ids[to.columns[lane]])),
            other_line=faults.line(before.site) if before.site < len(sites) else None, other_access="atomic" if before.atomic else did,
            other_thread=faults.thread(before.thread), other_block=faults.block(int(batch.ids[to.blocks[lane, 0]])), arrivals=True, count=count,
        )
    )  # fmt: skip


def _over(check: Watched, iid: int, bulk: Bulk, to: Lanes, lane: int, word: int) -> None:
    batch, faults = check.batch, check.check.machine.faults
    faults.add(
        explain_async.copied_over(
            **place(check, iid, word * check.check.grain), thread=faults.thread(int(to.rows[lane])), block=faults.block(int(batch.ids[to.columns[lane]])),
            at=mbarrier.on_line(batch, iid), copy_at=mbarrier.on_line(batch, bulk.iid), mbarrier=mbarrier.name_at(batch, bulk.offset), phase=bulk.phase,
        )
    )  # fmt: skip
