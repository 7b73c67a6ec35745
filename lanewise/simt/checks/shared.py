"""Races and unset reads in shared memory.

As in global memory, every word remembers its last writer and two readers; a block barrier orders everything before it. Nearly all accesses have the
same addresses in every block, so one record serves the whole batch; it becomes one a block only when an access differs between blocks.

Between two barriers a kernel mostly repeats what it did between the two before: the same instructions at the same addresses. So a walk through such a
stretch is remembered as a chain of states (`machine.shared_states`); while an access follows a known, clean chain, nothing is computed at all. The
first unknown access replays the chain into the records and goes on from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain
from ..values import i64, ndarray
from .races import ATOMIC, SITE_MASK, SITE_SHIFT, TIME_MASK, TIME_SHIFT, WHO, ordered_in_block, reads_and_writes, unpack

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..shared_access import SharedPattern


class SharedCheck:
    def __init__(self, batch: Batch):
        self.batch = batch
        machine = batch.machine
        self.machine = machine
        self.grain = machine.program.grains["shared"]
        self.shift = {1: 0, 2: 1, 4: 2}[self.grain]
        words = machine.shared_size // self.grain + 8
        self.width = 0  # 0: one record for all blocks; else the number of blocks
        self.writer = self.plain = self.reader = self.reader2 = None  # plain: the last writer that wasn't atomic
        self.words = words
        self.known = np.zeros(words, bool)  # set by somebody; (words, B) once blocks differ
        self.used = np.zeros(words, bool)  # read by somebody, in any block
        self.stored_at = np.full(words, -1, np.int32)  # site of the last store to each word
        self.known_reads: set[int] = set()
        self.known_writes: set[int] = set()
        self.state: int | None = 0
        self.path: dict[tuple, tuple] = {}
        self.replayed = 0  # entries of `path` that are in the records
        self.syncs = 0  # whole-batch __syncwarps since the last barrier

    # ------------------------------------------------------------------ what the machine tells

    def barrier(self) -> None:
        """Everything so far is ordered before everything to come."""
        self.state, self.syncs = 0, 0
        self.path.clear()
        self.replayed = 0
        if self.width:
            self.width = 0
            self.writer = self.plain = self.reader = self.reader2 = None

    def warp_sync(self, whole: bool) -> None:
        if whole and self.state is not None:
            self.syncs += 1
        else:
            self.partial_sync()

    def partial_sync(self) -> None:
        """Some threads have synchronised: from here to the next barrier the records decide."""
        self._replay()
        self.state = None

    def columns(self, batch: Batch, keep: ndarray) -> SharedCheck:
        other = SharedCheck.__new__(SharedCheck)
        for name in ("machine", "grain", "shift", "words", "state", "replayed", "syncs", "width"):
            setattr(other, name, getattr(self, name))
        other.batch = batch
        other.known = self.known.copy() if self.known.ndim == 1 else np.ascontiguousarray(self.known[:, keep])
        other.used, other.stored_at = self.used.copy(), self.stored_at.copy()
        other.known_reads, other.known_writes, other.path = set(self.known_reads), set(self.known_writes), dict(self.path)
        for name in ("writer", "plain", "reader", "reader2"):
            record = getattr(self, name)
            if record is not None:
                record = record.copy() if record.ndim == 1 else np.ascontiguousarray(record[:, keep])
            setattr(other, name, record)
        if other.width:
            other.width = len(keep)
        return other

    # ------------------------------------------------------------------ accesses with one address for all blocks

    def read(self, g: Group, iid: int, p: SharedPattern, total: int) -> None:
        if p.key not in self.known_reads:
            self._first_read(g, iid, p, total)
        self.used[self._range_of(p, total)] = True
        self._follow("read", g, iid, p, total, None, 0)

    def write(self, g: Group, iid: int, p: SharedPattern, total: int, values: tuple, size: int) -> None:
        self._follow("write", g, iid, p, total, values, size)
        self.used[self._range_of(p, total)] = False
        if (iid, p.key) not in self.known_writes:
            self.known_writes.add((iid, p.key))  # type: ignore[arg-type]
            index = self._range(p.offsets, total)
            self.known[index] = True
            self.stored_at[index] = iid

    def atomic(self, g: Group, iid: int, p: SharedPattern, total: int, reads: bool = True) -> None:
        """`reads`: what was there before matters; otherwise (an exchange whose result nobody uses) it sets the words like a write."""
        if reads and p.key not in self.known_reads:
            self._first_read(g, iid, p, total, "atomic")
        self._follow("atomic", g, iid, p, total, None, 0)
        index = self._range_of(p, total)
        self.used[index] = True
        if not reads:
            self.known[index] = True

    def _range_of(self, p: SharedPattern, total: int):
        if p.range is None:
            p.range = self._range(p.offsets, total)
        return p.range

    def finish(self) -> None:
        """The batch has ended: what was set and never read since."""
        m = self.machine
        known = self.known if self.known.ndim == 1 else self.known.any(axis=1)
        if m.known_shared is None:
            m.known_shared, m.used_shared, m.stored_shared = known.copy(), self.used.copy(), self.stored_at.copy()
        else:
            m.known_shared |= known
            m.used_shared |= self.used
            m.stored_shared = np.maximum(m.stored_shared, self.stored_at)

    def _range(self, offsets, total: int):
        """Word numbers of an access, for all its words."""
        words = max(total // self.grain, 1)
        first = offsets >> self.shift
        if words == 1:
            return first
        if first.__class__ is int:
            return slice(first, first + words)
        return (first[:, None] + np.arange(words)).ravel()

    def _first_read(self, g: Group, iid: int, p: SharedPattern, total: int, access: str = "read") -> None:
        index = self._range(p.offsets, total)
        known = self.known[index]
        if np.all(known):
            self.known_reads.add(p.key)
            return
        words = max(total // self.grain, 1)
        ok = np.asarray(known)
        ok = ok if ok.ndim < 2 else ok.all(axis=1)
        ok = np.broadcast_to(ok.reshape(-1, words).all(axis=1), (g.n,))
        row = int(np.flatnonzero(~ok)[0])
        offsets = np.broadcast_to(np.asarray(p.offsets), (g.n,))
        bad = offsets[~ok]
        self._unset(g, iid, self.machine.faults.thread(int(g.rows[row])), self._block(known, row, words), int(offsets[row]), bad, access)

    def _block(self, known, row: int, words: int):
        column = 0
        if np.ndim(known) == 2:
            part = known[row * words : row * words + words] if len(known) > words else known
            column = int(np.flatnonzero(~part.all(axis=0))[0])
        return self.machine.faults.block(int(self.batch.ids[column]))

    def _unset(self, g: Group, iid: int, thread, block, offset: int, offsets: ndarray, access: str) -> None:
        faults = self.machine.faults
        name, index, _, element, dims = faults.shared_at(iid, offset)
        base = offset - index * element
        seen = faults.seen("uninitialised-read", name, faults.line(iid))
        if seen is not None:
            seen.count += len(offsets)
            return
        unique = np.unique(offsets)
        faults.add(
            explain.uninitialised_read(
                array=name, index=index, space="shared", thread=thread, block=block, line=faults.line(iid), dims=dims, access=access, count=len(offsets),
                elements=len(unique), first_index=(int(unique[0]) - base) // element, last_index=(int(unique[-1]) - base) // element,
            )
        )  # fmt: skip

    def _follow(self, access: str, g: Group, iid: int, p: SharedPattern, total: int, values, size: int) -> None:
        key = (iid, p.key, access, self.syncs)
        if self.state is not None:
            if key in self.path:
                return
            states = self.machine.shared_states
            following = states.get((self.state, key))
            if following is not None:
                self.path[key] = (access, g, iid, p, total, self.batch.time)
                self.state = following
                return
            self._replay()
            clean = self._record(access, g, iid, p, total, self.batch.time, values, size, True)
            if clean and not self.machine.order.active:
                following = states[self.state, key] = len(states) + 1
                self.state = following
                self.path[key] = (access, g, iid, p, total, self.batch.time)
                self.replayed = len(self.path)
            else:
                self.state = None
            return
        self._record(access, g, iid, p, total, self.batch.time, values, size, True)

    def _replay(self) -> None:
        """Bring the records up to date with the accesses that were only followed."""
        if self.state is None or self.replayed == len(self.path):
            return
        for access, g, iid, p, total, time in list(self.path.values())[self.replayed :]:
            self._record(access, g, iid, p, total, time, None, 0, False)
        self.replayed = len(self.path)

    def _allocate(self) -> None:
        if self.writer is None:
            shape = (self.words, self.width) if self.width else (self.words,)
            self.writer, self.plain, self.reader, self.reader2 = (np.zeros(shape, i64) for _ in range(4))

    def _record(self, access: str, g: Group, iid: int, p: SharedPattern, total: int, time: int, values, size: int, report: bool) -> bool:
        """Check one access against the records and enter it; True if nothing was found."""
        self._allocate()
        offsets = p.offsets if p.offsets.__class__ is ndarray else np.full(g.n, p.offsets, i64)
        if self.width:
            B = self.batch.B
            return self._enter(access, g, iid, np.repeat(offsets, B), np.repeat(g.rows, B), np.tile(np.arange(B), g.n), total, time, values, size, report, True)
        return self._enter(access, g, iid, offsets, g.rows, None, total, time, values, size, report, p.duplicates)

    # ------------------------------------------------------------------ accesses that differ between blocks

    def read_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, access: str = "read") -> None:
        self._spread_known()
        index = self._range(offsets, total)
        words = max(total // self.grain, 1)
        self.used[index] = True
        known = self.known[index, np.repeat(columns, words)].reshape(-1, words).all(axis=1)
        if not known.all():
            lanes = np.flatnonzero(~known)
            thread, block = self.machine.faults.lane(g, int(lanes[0]))
            self._unset(g, iid, thread, block, int(offsets[lanes[0]]), offsets[lanes], access)
        self._each(access, g, iid, offsets, columns, total, None, 0)

    def write_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, values: list, size: int) -> None:
        self._each("write", g, iid, offsets, columns, total, values, size)
        self._spread_known()
        index = self._range(offsets, total)
        self.known[index, np.repeat(columns, max(total // self.grain, 1))] = True
        self.stored_at[index] = iid

    def atomic_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, reads: bool) -> None:
        if reads:
            self.read_each(g, iid, offsets, columns, total, "atomic")
            return
        self._each("atomic", g, iid, offsets, columns, total, None, 0)
        self._spread_known()
        index = self._range(offsets, total)
        self.known[index, np.repeat(columns, max(total // self.grain, 1))] = True
        self.used[index] = True

    def _spread_known(self) -> None:
        if self.known.ndim == 1:
            self.known = np.repeat(self.known[:, None], self.batch.B, axis=1)
            self.known_writes.clear()

    def _each(self, access: str, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, values, size: int) -> None:
        self._replay()
        self.state = None
        if not self.width:
            self.width = self.batch.B
            for name in ("writer", "plain", "reader", "reader2"):
                record = getattr(self, name)
                if record is not None:
                    setattr(self, name, np.repeat(record[:, None], self.width, axis=1))
        self._allocate()
        rows = np.repeat(g.rows, self.batch.B) if g.cols is None else g.rows
        self._enter(access, g, iid, offsets, rows, columns, total, self.batch.time, values, size, True, True)

    # ------------------------------------------------------------------ the records

    def _enter(self, access: str, g: Group, iid: int, offsets: ndarray, rows: ndarray, columns, total: int, time: int, values, size: int, report: bool, duplicates: bool) -> bool:
        atomic = access == "atomic"
        tags = (rows + 1) + i64((min(time, TIME_MASK) << TIME_SHIFT) | (min(iid, SITE_MASK) << SITE_SHIFT) | (ATOMIC if atomic else 0))
        clean = True
        writer, plain, reader, reader2 = self.writer, self.plain, self.reader, self.reader2
        assert writer is not None and plain is not None and reader is not None and reader2 is not None
        for j in range(max(total // self.grain, 1)):
            word = (offsets >> self.shift) + j
            index = word if columns is None else (word, columns)
            before = writer[index]
            if access == "read":
                clean &= self._compare(g, iid, offsets, columns, j, before, tags, access, "write", None, report)
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
            if values is not None and self._may_conflict(before, tags):
                same = self._same_as_there(offsets, columns, j, values, size, tags)
            clean &= self._compare(g, iid, offsets, columns, j, before, tags, access, "write", same, report)
            clean &= self._compare(g, iid, offsets, columns, j, reader[index], tags, access, "read", None, report)
            clean &= self._compare(g, iid, offsets, columns, j, reader2[index], tags, access, "read", None, report)
            writer[index] = tags
            if atomic:  # an atomic of the writer's own warp must not hide a plain store from the other warps
                clean &= self._compare(g, iid, offsets, columns, j, plain[index], tags, access, "write", None, report)
            else:
                plain[index] = tags
            if duplicates and not atomic:
                kept = writer[index]
                if ((kept ^ tags) & WHO != 0).any():
                    same = self._same_in_store(word, columns, j, values, size, tags) if values is not None else None
                    clean &= self._compare(g, iid, offsets, columns, j, kept, tags, access, "write", same, report)
        return clean

    def _may_conflict(self, old: ndarray, tags: ndarray) -> bool:
        return bool(((old != 0) & ((old ^ tags) & WHO != 0) & ((old >> TIME_SHIFT & TIME_MASK) >= self.batch.last_sync)).any())

    def _flat_values(self, j: int, values, size: int, count: int, columns) -> ndarray | None:
        k = j * self.grain // size
        if k >= len(values):
            return None
        value = values[k]
        if columns is not None:
            return np.broadcast_to(np.asarray(value), (count,)) if np.ndim(value) < 2 else np.broadcast_to(value, (count // self.batch.B, self.batch.B)).ravel() if np.asarray(value).size != count else np.asarray(value).ravel()
        return value

    def _same_as_there(self, offsets: ndarray, columns, j: int, values, size: int, tags: ndarray):
        """Per lane: is the value to be stored already there (in every block)?"""
        k = j * self.grain // size
        if k >= len(values):
            return None
        there = self.batch.shared.load(offsets, size, k, columns)
        value = self._flat_values(j, values, size, len(tags), columns)
        equal = there == value
        return equal if equal.ndim == 1 else equal.all(axis=1)

    def _same_in_store(self, word: ndarray, columns, j: int, values, size: int, tags: ndarray):
        """Per lane: do all lanes that store to its word store the same value, in every block?"""
        value = self._flat_values(j, values, size, len(tags), columns)
        if value is None:
            return None
        key = word if columns is None else word * self.batch.B + columns
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        starts = np.flatnonzero(np.r_[True, sorted_key[1:] != sorted_key[:-1]])
        table = np.broadcast_to(np.asarray(value).reshape(-1, 1) if np.ndim(value) < 2 else value, (len(tags), np.shape(value)[1] if np.ndim(value) == 2 else 1))[order]
        equal = (np.minimum.reduceat(table, starts, axis=0) == np.maximum.reduceat(table, starts, axis=0)).all(axis=1)
        out = np.empty(len(tags), bool)
        out[order] = np.repeat(equal, np.diff(np.r_[starts, len(key)]))
        return out

    def _compare(self, g: Group, iid: int, offsets: ndarray, columns, j: int, old: ndarray, tags: ndarray, access: str, other_access: str, same, report: bool) -> bool:
        bad = (old != 0) & ((old ^ tags) & WHO != 0) & ((old >> TIME_SHIFT & TIME_MASK) >= self.batch.last_sync)
        if access == "atomic":
            bad &= old & ATOMIC == 0
        if not bad.any():
            return True
        lanes = np.flatnonzero(bad)
        batch = self.batch
        order = self.machine.order
        if batch.warp_sync is not None or batch.partial_syncs or order.active:
            keep = []
            for k in lanes:
                a, b = unpack(int(old[k])), unpack(int(tags[k]))
                column = 0 if columns is None else int(columns[k])
                if ordered_in_block(batch, a.thread, b.thread, column, a.time):
                    continue
                if order.active:
                    first = int(batch.ids[column]) * batch.T
                    if order.before(a._replace(thread=first + a.thread), b._replace(thread=first + b.thread), batch):
                        continue
                keep.append(k)
            lanes = np.array(keep, int)
        if not len(lanes):
            return True
        if same is not None and access == "write" and other_access == "write":
            equal = same[lanes]
            if equal.any() and report:
                self._report(g, iid, offsets, columns, j, lanes[equal], old, tags, access, other_access, True)
            lanes = lanes[~equal]
        if len(lanes) and report:
            self._report(g, iid, offsets, columns, j, lanes, old, tags, access, other_access, False)
        return False

    def _report(self, g: Group, iid: int, offsets: ndarray, columns, j: int, lanes: ndarray, old: ndarray, tags: ndarray, access: str, other_access: str, same: bool) -> None:
        machine = self.machine
        faults = machine.faults
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
        if same:
            faults.add(
                explain.same_value_write(array=name, index=index, space="shared", line=faults.line(iid), thread=thread, block=block, other_thread=other_thread, other_block=block, dims=dims, count=count)
            )
            return
        faults.add(
            explain.race(
                array=name, index=index, space="shared", line=faults.line(iid), access=access, thread=thread, block=block, other_line=other_line,
                other_access="atomic" if before.atomic else other_access, other_thread=other_thread, other_block=block,
                same_warp=now.thread >> 5 == before.thread >> 5, dims=dims, read_and_written=reads_and_writes(machine, iid, before.site), count=count,
            )
        )  # fmt: skip
