"""Who wrote and read each word of shared memory: the last writer, the last writer that wasn't atomic, two readers.

A block barrier orders everything before it. Nearly all accesses have the same addresses in every block, so one record serves the whole batch; it
becomes one a block only when an access differs between blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import explain, explain_async
from ..values import i64, ndarray
from .races import ATOMIC, SITE_MASK, SITE_SHIFT, TIME_MASK, TIME_SHIFT, WHO, copies, ordered_in_block, reads_and_writes, unpack

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group

_RECORDS = ("writer", "plain", "reader", "reader2")
_NONE = np.zeros(0, i64)


@dataclass(slots=True)
class Access:
    """One memory instruction of a group: "read", "write", "atomic" or "strong" (an atomic load), `total` bytes a lane.

    A write brings its values, elements of `size` bytes.
    """

    access: str
    g: Group
    iid: int
    total: int
    time: int
    values: Sequence
    size: int
    report: bool = True


class SharedRecords:
    def __init__(self, batch: Batch, grain: int, words: int):
        self.batch, self.grain, self.words = batch, grain, words
        self.shift = {1: 0, 2: 1, 4: 2}[grain]
        self.width = 0  # 0: one record for all blocks; else the number of blocks
        self.writer: ndarray = _NONE  # allocated by the first access
        self.plain = self.reader = self.reader2 = self.writer

    def forget(self) -> None:
        """A block barrier: what is older than it conflicts with nothing, and blocks may go together again."""
        if self.width:
            self.width = 0
            self.writer = self.plain = self.reader = self.reader2 = _NONE

    def columns(self, batch: Batch, keep: ndarray) -> SharedRecords:
        """The records of the blocks `keep`, for the batch that they now make up."""
        other = SharedRecords(batch, self.grain, self.words)
        other.width = len(keep) if self.width else 0
        for name in _RECORDS:
            record = getattr(self, name)
            setattr(other, name, record.copy() if record.ndim == 1 else np.ascontiguousarray(record[:, keep]))
        return other

    def spread(self) -> None:
        """From now on a record for each block."""
        if self.width:
            return
        self.width = self.batch.B
        for name in _RECORDS:
            record = getattr(self, name)
            if len(record):
                setattr(self, name, np.repeat(record[:, None], self.width, axis=1))

    def _allocate(self) -> None:
        shape = (self.words, self.width) if self.width else (self.words,)
        for name in _RECORDS:
            setattr(self, name, np.zeros(shape, i64))

    def enter(self, a: Access, offsets: ndarray, rows: ndarray, columns: ndarray | None, duplicates: bool) -> bool:
        """Check an access and remember it; True if nothing was found. One lane a row: offset, thread, column of its block (None: the same in all blocks).

        `duplicates`: some lanes may have the same offset.
        """
        if not len(self.writer):
            self._allocate()
        atomic = a.access in ("atomic", "strong")
        tags = (rows + 1) + i64((min(a.time, TIME_MASK) << TIME_SHIFT) | (min(a.iid, SITE_MASK) << SITE_SHIFT) | (ATOMIC if atomic else 0))
        clean = True
        writer, plain, reader, reader2 = self.writer, self.plain, self.reader, self.reader2
        for j in range(max(a.total // self.grain, 1)):
            word = (offsets >> self.shift) + j
            index = word if columns is None else (word, columns)
            before = writer[index]
            if a.access in ("read", "strong"):
                clean &= self._compare(a, offsets, columns, j, before, tags, "write", None)
                old = reader[index]
                reader[index] = tags
                if duplicates:
                    kept = reader[index]
                    lost = (kept ^ tags) & WHO != 0
                    lost_index = word[lost] if columns is None else (word[lost], columns[lost])
                    other = (old != 0) & ((old ^ kept) & WHO != 0) & ((old >> TIME_SHIFT & TIME_MASK) >= self.batch.last_sync)
                    reader2[index] = np.where(other, old, reader2[index])
                    reader2[lost_index] = tags[lost]
                else:
                    other = (old != 0) & ((old ^ tags) & WHO != 0)
                    if other.any():
                        reader2[index] = np.where(other, old, reader2[index])
                continue
            same = None
            if a.values and self._conflicts(before, tags).any():
                same = self._same_as_there(a, offsets, columns, j)
            clean &= self._compare(a, offsets, columns, j, before, tags, "write", same)
            clean &= self._compare(a, offsets, columns, j, reader[index], tags, "read", None)
            clean &= self._compare(a, offsets, columns, j, reader2[index], tags, "read", None)
            writer[index] = tags
            if atomic:  # an atomic of the writer's own warp must not hide a plain store from the other warps
                clean &= self._compare(a, offsets, columns, j, plain[index], tags, "write", None)
            else:
                plain[index] = tags
            if duplicates and not atomic:
                kept = writer[index]
                if ((kept ^ tags) & WHO != 0).any():
                    same = self._same_in_store(a, word, columns, j)
                    clean &= self._compare(a, offsets, columns, j, kept, tags, "write", same)
        return clean

    def overwrite(self, words: ndarray, row: int, iid: int, columns: ndarray | None, source: int) -> None:
        """Thread `row` issues an asynchronous copy into these words (in the blocks `columns`): all earlier accesses must be ordered before it.

        Their records end here. `source` is the thread's number in its cluster: see checks.happened.
        """
        if not len(self.writer):
            return
        batch = self.batch
        if columns is not None:
            self.spread()
        at = words if columns is None else np.ix_(words, columns)
        for record, access in ((self.writer, "write"), (self.plain, "write"), (self.reader, "read"), (self.reader2, "read")):
            old = record[at]
            if not old.any():
                continue
            flat = old if old.ndim == 1 else old.max(axis=1)
            rank = 0 if columns is None else int(columns[0]) % batch.machine.cluster
            if source // batch.T == rank:
                bad = self._conflicts(flat, np.array(row + 1, i64))
            else:  # block barriers order nothing for another block
                bad = flat != 0
            if bad.any() and batch.happened is not None:
                here = np.flatnonzero(bad)
                who, when = rank * batch.T + (flat[here] & WHO) - 1, flat[here] >> TIME_SHIFT & TIME_MASK
                bad[here] = ~batch.happened.knows(np.full(len(here), source), who, when)
            if bad.any():
                self._report_copy(words, np.flatnonzero(bad), flat, row, iid, access)
            record[at] = 0

    def read_now(self, words: ndarray, row: int, iid: int, columns: ndarray | None = None) -> None:
        """Thread `row` has just read these words, once each (in the blocks `columns`)."""
        if columns is not None:
            self.spread()
        if not len(self.writer):
            self._allocate()
        at = words if columns is None else np.ix_(words, columns)
        tag = i64((row + 1) + (min(self.batch.time, TIME_MASK) << TIME_SHIFT | min(iid, SITE_MASK) << SITE_SHIFT))
        old = self.reader[at]
        other = (old != 0) & ((old ^ tag) & WHO != 0)
        if other.any():
            self.reader2[at] = np.where(other, old, self.reader2[at])
        self.reader[at] = tag

    def _report_copy(self, words: ndarray, lanes: ndarray, old: ndarray, row: int, iid: int, access: str) -> None:
        machine = self.batch.machine
        faults = machine.faults
        k = int(lanes[0])
        before = unpack(int(old[k]))
        name, index, _, _, dims = faults.shared_at(iid, int(words[k]) * self.grain)
        other_line = faults.line(before.site) if before.site < len(machine.program.sites) else None
        block = faults.block(int(self.batch.ids[0]))
        faults.add(
            explain_async.copy_race(
                array=name, index=index, dims=dims, line=faults.line(iid), thread=faults.thread(row), block=block, other_line=other_line,
                other_access=access, other_thread=faults.thread(before.thread), count=len(lanes),
            )
        )  # fmt: skip

    def _conflicts(self, old: ndarray, tags: ndarray) -> ndarray:
        """Where another thread did something since the last block barrier."""
        return (old != 0) & ((old ^ tags) & WHO != 0) & ((old >> TIME_SHIFT & TIME_MASK) >= self.batch.last_sync)

    def _stored(self, a: Access, j: int, count: int, columns: ndarray | None):
        """The values that the lanes store to word j: a scalar, one a lane, or (for all blocks at once) an array of the register's shape. None: none."""
        k = j * self.grain // a.size if a.size else len(a.values)
        if k >= len(a.values):
            return None
        value = a.values[k]
        if columns is None or np.ndim(value) < 2 or np.size(value) == count:
            return value if columns is None else np.broadcast_to(np.ravel(value), (count,))
        return np.broadcast_to(value, (count // self.batch.B, self.batch.B)).ravel()

    def _same_as_there(self, a: Access, offsets: ndarray, columns: ndarray | None, j: int) -> ndarray | None:
        """Per lane: is the value to be stored already there (in every block)?"""
        value = self._stored(a, j, len(offsets), columns)
        if value is None:
            return None
        equal = self.batch.shared.load(offsets, a.size, j * self.grain // a.size, columns) == value
        return equal if equal.ndim == 1 else equal.all(axis=1)

    def _same_in_store(self, a: Access, word: ndarray, columns: ndarray | None, j: int) -> ndarray | None:
        """Per lane: do all lanes that store to its word store the same value, in every block?"""
        value = self._stored(a, j, len(word), columns)
        if value is None:
            return None
        key = word if columns is None else word * self.batch.B + columns
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        starts = np.flatnonzero(np.r_[True, sorted_key[1:] != sorted_key[:-1]])
        table = np.asarray(value).reshape(-1, 1) if np.ndim(value) < 2 else value
        table = np.broadcast_to(table, (len(word), table.shape[1]))[order]
        equal = (np.minimum.reduceat(table, starts, axis=0) == np.maximum.reduceat(table, starts, axis=0)).all(axis=1)
        out = np.empty(len(word), bool)
        out[order] = np.repeat(equal, np.diff(np.r_[starts, len(key)]))
        return out

    def _compare(
        self, a: Access, offsets: ndarray, columns: ndarray | None, j: int, old: ndarray, tags: ndarray, other_access: str, same: ndarray | None
    ) -> bool:
        """Whether the access is in order after the accesses `old`, each lane's an `other_access`. `same`: lanes whose store changes nothing."""
        bad = self._conflicts(old, tags)
        if a.access in ("atomic", "strong"):
            bad &= old & ATOMIC == 0
        if not bad.any():
            return True
        happened = self.batch.happened
        if happened is not None:  # what an mbarrier or another meeting orders
            here = np.flatnonzero(bad)
            who, when = (old[here] & WHO) - 1, old[here] >> TIME_SHIFT & TIME_MASK
            bad[here] = ~happened.in_block((tags[here] & WHO) - 1, who, when, None if columns is None else columns[here])
            if not bad.any():
                return True
        lanes = np.flatnonzero(bad)
        batch = self.batch
        order = batch.machine.order
        if batch.warp_sync is not None or batch.partial_syncs or order.active:
            keep = []
            for k in lanes:
                first, second = unpack(int(old[k])), unpack(int(tags[k]))
                column = 0 if columns is None else int(columns[k])
                if ordered_in_block(batch, first.thread, second.thread, column, first.time):
                    continue
                if order.active:
                    base = int(batch.ids[column]) * batch.T
                    if order.before(first._replace(thread=base + first.thread), second._replace(thread=base + second.thread), batch):
                        continue
                keep.append(k)
            lanes = np.array(keep, int)
        if not len(lanes):
            return True
        if not a.report:
            return False
        if same is not None and a.access == "write" and other_access == "write":
            equal = same[lanes]
            if equal.any():
                self._report(a, offsets, columns, j, lanes[equal], old, tags, other_access, True)
            lanes = lanes[~equal]
        if len(lanes):
            self._report(a, offsets, columns, j, lanes, old, tags, other_access, False)
        return False

    def _report(
        self, a: Access, offsets: ndarray, columns: ndarray | None, j: int, lanes: ndarray, old: ndarray, tags: ndarray, other_access: str, same: bool
    ) -> None:
        machine = self.batch.machine
        faults, iid = machine.faults, a.iid
        apart = (((old[lanes] & WHO) - 1) >> 5) != (((tags[lanes] & WHO) - 1) >> 5)  # a pair of two warps shows best what a block barrier is for
        k = int(lanes[np.argmax(apart)])
        before, now = unpack(int(old[k])), unpack(int(tags[k]))
        name, index, _, element, dims = faults.shared_at(iid, int(offsets[k]))
        index += j * self.grain // element
        other_line = faults.line(before.site) if before.site < len(machine.program.sites) else None
        block = faults.block(int(self.batch.ids[0 if columns is None else int(columns[k])]))
        count = len(lanes) * (self.batch.B if columns is None else 1)
        seen = faults.seen("same-value-write" if same else "race", name, faults.line(iid), other_line)
        if seen is not None:
            seen.count += count
            return
        thread, other_thread = faults.thread(now.thread), faults.thread(before.thread)
        access = "read" if a.access == "strong" else a.access
        if same:
            faults.add(
                explain.same_value_write(
                    array=name, index=index, space="shared", line=faults.line(iid), thread=thread, block=block, other_thread=other_thread,
                    other_block=block, dims=dims, count=count,
                )
            )  # fmt: skip
            return
        faults.add(
            explain.race(
                array=name, index=index, space="shared", line=faults.line(iid), access=access, thread=thread, block=block, other_line=other_line,
                other_access="atomic" if before.atomic else other_access, other_thread=other_thread, other_block=block,
                same_warp=now.thread >> 5 == before.thread >> 5, dims=dims, read_and_written=reads_and_writes(machine, iid, before.site),
                copied=other_access == "write" and copies(machine, before.site), count=count,
            )
        )  # fmt: skip
