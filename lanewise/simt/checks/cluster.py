"""Shared memory of other blocks: races across the blocks of a cluster, blocks that may have ended, ranks that aren't there.

Only a barrier of the cluster orders what two blocks do to the shared memory of one of them. For every word: the last write and read of its own block
and of others, each with the number of cluster barriers before it. Where blocks arrive at each other's mbarriers, these may order it too: then each record
has its time, and checks.happened is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import access, explain_cluster
from ..clusters import clusters
from ..values import i64, ndarray
from .races import Access

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group

_RECORDS = ("own_write", "own_read", "far_write", "far_read")
# a record: epoch + 1 (from bit 44), rank of the block (36), instruction (20), thread (8 … 19 are enough for 1024)
EPOCH, RANK, SITE, ATOMIC, THREAD = 44, 36, 20, 1 << 19, (1 << 12) - 1


class ClusterCheck:
    """A shared-memory check that stands before the one for single blocks."""

    def __init__(self, check, batch: Batch):
        self.check, self.batch = check, batch
        self.arrivals = batch.machine.program.remote_arrivals
        shape = (len(check.used), batch.B)
        self.own_write, self.own_read, self.far_write, self.far_read = (np.zeros(shape, i64) for _ in _RECORDS)
        self.timed = self.arrivals or batch.machine.program.has_flags  # something may order accesses between two barriers
        self.times = {name: np.zeros(shape, i64) for name in _RECORDS} if self.timed else {}
        self.last_far = np.zeros(batch.B, i64)  # record of the last access from another block to each block

    def __getattr__(self, name: str):
        return getattr(self.check, name)

    def columns(self, batch: Batch, keep: ndarray) -> ClusterCheck:
        other = ClusterCheck.__new__(ClusterCheck)
        other.check, other.batch, other.arrivals, other.timed = self.check.columns(batch, keep), batch, self.arrivals, self.timed
        for name in _RECORDS:
            setattr(other, name, np.ascontiguousarray(getattr(self, name)[:, keep]))
        other.times = {name: np.ascontiguousarray(times[:, keep]) for name, times in self.times.items()}
        other.last_far = self.last_far[keep]
        return other

    # ------------------------------------------------------------------ accesses of a block's own memory, the same in all blocks

    def read(self, g: Group, iid: int, p, total: int, how: str = "read") -> None:
        self._own(g, iid, p, total, how)
        self.check.read(g, iid, p, total, how)

    def write(self, g: Group, iid: int, p, total: int, values: tuple, size: int) -> None:
        self._own(g, iid, p, total, "write")
        self.check.write(g, iid, p, total, values, size)

    def atomic(self, g: Group, iid: int, p, total: int, reads: bool = True) -> None:
        self._own(g, iid, p, total, "atomic")
        self.check.atomic(g, iid, p, total, reads)

    def _own(self, g: Group, iid: int, p, total: int, how: str) -> None:
        B = self.batch.B
        offsets = np.broadcast_to(np.asarray(p.offsets), (g.n,))
        self._enter(g, iid, np.repeat(offsets, B), np.tile(np.arange(B), g.n), total, how, False)

    # ------------------------------------------------------------------ accesses lane by lane

    def read_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str = "read") -> None:
        near, far = self._parted(g, columns)
        for lanes, part in self._near(g, near):
            self._enter(part, iid, offsets[lanes], columns[lanes], total, how, False)
            self.check.read_each(part, iid, offsets[lanes], columns[lanes], total, how)
        if len(far):
            part = access.lanes_group(g, far)
            self._set_before(part, iid, offsets[far], columns[far], total, how)
            self._enter(part, iid, offsets[far], columns[far], total, how, True)

    def write_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, values: list, size: int) -> None:
        near, far = self._parted(g, columns)
        for lanes, part in self._near(g, near):
            self._enter(part, iid, offsets[lanes], columns[lanes], total, "write", False)
            self.check.write_each(part, iid, offsets[lanes], columns[lanes], total, [v[lanes] if np.ndim(v) else v for v in values], size)
        if len(far):
            self._enter(access.lanes_group(g, far), iid, offsets[far], columns[far], total, "write", True)
            self._now_set(iid, offsets[far], columns[far], total)

    def atomic_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, reads: bool) -> None:
        near, far = self._parted(g, columns)
        for lanes, part in self._near(g, near):
            self._enter(part, iid, offsets[lanes], columns[lanes], total, "atomic", False)
            self.check.atomic_each(part, iid, offsets[lanes], columns[lanes], total, reads)
        if len(far):
            part = access.lanes_group(g, far)
            if reads:
                self._set_before(part, iid, offsets[far], columns[far], total, "atomic")
            self._enter(part, iid, offsets[far], columns[far], total, "atomic", True)
            self._now_set(iid, offsets[far], columns[far], total)

    def _parted(self, g: Group, columns: ndarray) -> tuple[ndarray, ndarray]:
        """Lanes that stay in their own block, and the others."""
        far = columns != np.broadcast_to(g.block_columns, g.shape).ravel()
        return np.flatnonzero(~far), np.flatnonzero(far)

    @staticmethod
    def _near(g: Group, lanes: ndarray):
        if len(lanes) == g.shape[0] * g.shape[1]:
            yield lanes, g
        elif len(lanes):
            yield lanes, access.lanes_group(g, lanes)

    def _index(self, offsets: ndarray, columns: ndarray, total: int) -> tuple[ndarray, ndarray]:
        words = max(total // self.check.grain, 1)
        return np.asarray(self.check._range(offsets, total)), np.repeat(columns, words)

    def _set_before(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str) -> None:
        """Was what is read set by anybody?"""
        check = self.check
        check._spread_known()
        index, where = self._index(offsets, columns, total)
        check.used[index] = True
        known = check.known[index, where].reshape(len(offsets), -1).all(axis=1)
        if not known.all():
            lanes = np.flatnonzero(~known)
            thread, block = self.batch.machine.faults.lane(g, int(lanes[0]))
            check._unset(g, iid, thread, block, int(offsets[lanes[0]]), offsets[lanes], how)

    def _now_set(self, iid: int, offsets: ndarray, columns: ndarray, total: int) -> None:
        check = self.check
        check._spread_known()
        index, where = self._index(offsets, columns, total)
        check.known[index, where] = True
        check.stored_at[index] = iid

    # ------------------------------------------------------------------ the records

    def _enter(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str, far: bool) -> None:
        """Check an access of every lane and remember it. `columns`: whose memory it is."""
        batch = self.batch
        size = batch.machine.cluster
        rows = np.repeat(g.rows, batch.B) if g.cols is None else g.rows
        from_columns = np.tile(np.arange(batch.B), g.n) if g.cols is None else g.cols
        epoch = clusters(batch).of_columns()[columns] + 1
        atomic, how = how in ("atomic", "strong"), "read" if how == "strong" else how
        tags = epoch << EPOCH | (from_columns % size) << RANK | (iid & 0xFFFF) << SITE | (ATOMIC if atomic else 0) | rows
        words = max(total // self.check.grain, 1)
        index, where = self._index(offsets, columns, total)
        tags = np.repeat(tags, words)
        against = {(False, "read"): ("far_write",), (False, "write"): ("far_write", "far_read"), (False, "atomic"): ("far_write", "far_read"),
                   (True, "read"): ("own_write", "far_write"), (True, "write"): ("own_write", "own_read", "far_write", "far_read"),
                   (True, "atomic"): ("own_write", "own_read", "far_write", "far_read")}[far, how]  # fmt: skip
        for name in against:
            old = getattr(self, name)[index, where]
            bad = (old >> EPOCH == tags >> EPOCH) & (old >> RANK & 0xFF != tags >> RANK & 0xFF)
            if atomic:
                bad &= old & ATOMIC == 0
            if self.timed and bad.any():
                bad &= ~self._known(old, self.times[name][index, where], tags, where)
            if bad.any():
                self._report(g, iid, offsets, columns, words, np.flatnonzero(bad), old, how, name)
        kind = ("far" if far else "own") + ("_read" if how == "read" else "_write")
        getattr(self, kind)[index, where] = tags
        if self.timed:
            self.times[kind][index, where] = batch.time
        if far:
            self.last_far[columns] = tags[::words]
            self._gone(g, iid, columns, how)

    def _known(self, old: ndarray, times: ndarray, tags: ndarray, columns: ndarray) -> ndarray:
        """Whether the threads of `tags` know, by an mbarrier or a flag, of the accesses `old` to the memory of blocks `columns`."""
        batch = self.batch
        happened, T, order = batch.happened, batch.T, batch.machine.order
        out = np.zeros(len(old), bool)
        if happened is not None:
            who, other = ((x >> RANK & 0xFF) * T + (x & THREAD) for x in (tags, old))
            out = happened.knows(who, other, times)
        if order.active or order.full:
            first = columns // batch.machine.cluster * batch.machine.cluster
            new, before = (batch.ids[first + (x >> RANK & 0xFF)] * T + (x & THREAD) for x in (tags, old))
            for k in np.flatnonzero((old != 0) & ~out).tolist():
                out[k] = order.before(Access(int(before[k]), int(times[k]), 0, False), Access(int(new[k]), 0, 0, False), batch)
        return out

    def _report(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, words: int, bad: ndarray, old: ndarray, how: str, name: str) -> None:
        batch = self.batch
        machine = batch.machine
        faults = machine.faults
        lane, word = divmod(int(bad[0]), words)
        tag = int(old[bad[0]])
        site = tag >> SITE & 0xFFFF
        column = int(columns[lane])
        other = int(column // machine.cluster * machine.cluster + (tag >> RANK & 0xFF))
        array, index, _, element, dims = faults.shared_at(iid, int(offsets[lane]))
        thread, block = faults.lane(g, lane)
        faults.add(
            explain_cluster.far_race(
                array=array, index=index + word * self.check.grain // element, dims=dims, owner=faults.block(int(batch.ids[column])),
                line=faults.line(iid), access=how, thread=thread, block=block, other_line=faults.line(site),
                other_access="atomic" if tag & ATOMIC else name.removeprefix("own_").removeprefix("far_"), other_thread=faults.thread(tag & THREAD),
                other_block=faults.block(int(batch.ids[other])), arrivals=self.arrivals, count=len(bad),
            )
        )  # fmt: skip

    # ------------------------------------------------------------------ blocks that end

    def _gone(self, g: Group, iid: int, columns: ndarray, how: str) -> None:
        """Have all threads of a block that is accessed left already?"""
        left: ndarray = np.asarray(self.batch.exited.all(axis=0))[columns]
        if left.any():
            column = int(columns[np.argmax(left)])
            self._ended(column, int(self.last_far[column]), how)

    def _ended(self, column: int, tag: int, how: str) -> None:
        batch = self.batch
        faults = batch.machine.faults
        site = tag >> SITE & 0xFFFF
        source = column // batch.machine.cluster * batch.machine.cluster + (tag >> RANK & 0xFF)
        faults.add(
            explain_cluster.may_have_ended(
                array=batch.machine.array_name(batch.machine.program.sites[site]) or "shared memory", line=faults.line(site),
                owner=faults.block(int(batch.ids[column])), thread=faults.thread(tag & THREAD), block=faults.block(int(batch.ids[source])), access=how,
                arrivals=self.arrivals,
            )
        )  # fmt: skip

    def finish(self) -> None:
        """The batch has ended: was the last access to each block's memory followed by a barrier of the cluster?"""
        ended = clusters(self.batch).of_columns() + 1
        if not self.arrivals:
            for column in np.flatnonzero(self.last_far >> EPOCH == ended).tolist():
                kind = self.batch.machine.program.sites[int(self.last_far[column]) >> SITE & 0xFFFF].kind
                self._ended(column, int(self.last_far[column]), {"ld": "read", "st": "write"}.get(kind.split(".")[0], "atomic"))
        self.check.finish()


def no_such_rank(g: Group, iid: int, rank: int) -> None:
    machine = g.batch.machine
    thread, block = machine.faults.lane(g, 0)
    if machine.check:
        machine.faults.add(explain_cluster.no_such_rank(line=machine.faults.line(iid), rank=rank, size=machine.cluster, thread=thread, block=block))


def arrived_twice(g: Group, which: ndarray) -> None:
    """Threads arrive at the cluster barrier again before they have waited."""
    _misused(g, which, False)


def never_arrived(g: Group, which: ndarray) -> None:
    """Threads wait at the cluster barrier without having arrived."""
    _misused(g, which, True)


def _misused(g: Group, which: ndarray, waits: bool) -> None:
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, int(np.argmax(which)))
    faults.add(explain_cluster.barrier_misused(line=faults.pc_line(g), thread=thread, block=block, waits=waits))


def deadlock(batch: Batch) -> bool:
    """Report that threads wait at a cluster barrier in vain; whether it is so."""
    g = next((g for g in batch.groups if g.waits == "cluster"), None)
    if g is None:
        return False
    faults, c = batch.machine.faults, clusters(batch)
    column = 0 if g.cols is None else int(g.cols[0])
    first = column // c.size * c.size
    late = ~(c.here | batch.exited)[:, first : first + c.size]
    block = int(np.argmax(late.any(axis=0)))
    missing = np.flatnonzero(late[:, block])
    others = [x for x in batch.groups if x is not g and missing[0] in x.rows]
    elsewhere = next((x for x in others if x.cols is None or (first + block) in x.cols), None)
    faults.add(
        explain_cluster.cluster_deadlock(
            line=faults.pc_line(g), threads=sorted({int(r) for r in g.rows}), block=faults.block(int(batch.ids[column])), missing=missing.tolist(),
            missing_block=faults.block(int(batch.ids[first + block])), missing_line=faults.pc_line(elsewhere) if elsewhere is not None else None,
        )
    )  # fmt: skip
    return True
