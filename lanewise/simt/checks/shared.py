"""Races and unset reads in shared memory.

As in global memory, every word remembers its last writer and two readers: see shared_records.

Between two barriers a kernel mostly repeats what it did between the two before: the same instructions at the same addresses. So a walk through such a
stretch is remembered as a chain of states (`machine.shared_states`); while an access follows a known, clean chain, nothing is computed at all. The
first unknown access replays the chain into the records and goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain, explain_async
from ..values import i64, ndarray
from .shared_records import Access, SharedRecords

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
        self.records = SharedRecords(batch, self.grain, words)
        self.known = np.zeros(words, bool)  # set by somebody; (words, B) once blocks differ
        self.used = np.zeros(words, bool)  # read by somebody, in any block
        self.stored_at = np.full(words, -1, np.int32)  # site of the last store to each word
        self.known_reads: set[int] = set()
        self.known_writes: set[tuple[int, int]] = set()
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
        self.records.forget()

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
        other.batch, other.machine, other.grain, other.shift = batch, self.machine, self.grain, self.shift
        other.state, other.replayed, other.syncs = self.state, self.replayed, self.syncs
        other.records = self.records.columns(batch, keep)
        other.known = self.known.copy() if self.known.ndim == 1 else np.ascontiguousarray(self.known[:, keep])
        other.used, other.stored_at = self.used.copy(), self.stored_at.copy()
        other.known_reads, other.known_writes, other.path = set(self.known_reads), set(self.known_writes), dict(self.path)
        return other

    # ------------------------------------------------------------------ accesses with one address for all blocks

    def read(self, g: Group, iid: int, p: SharedPattern, total: int, access: str = "read") -> None:
        """`access` "strong": a relaxed or acquiring load, which is atomic."""
        if p.key not in self.known_reads:
            self._first_read(g, iid, p, total)
        self.used[self.range_of(p, total)] = True
        self._follow(access, g, iid, p, total, (), 0)

    def write(self, g: Group, iid: int, p: SharedPattern, total: int, values: tuple, size: int) -> None:
        self._follow("write", g, iid, p, total, values, size)
        self.used[self.range_of(p, total)] = False
        if (iid, p.key) not in self.known_writes:
            self.known_writes.add((iid, p.key))
            index = self._range(p.offsets, total)
            self.known[index] = True
            self.stored_at[index] = iid

    def atomic(self, g: Group, iid: int, p: SharedPattern, total: int, reads: bool = True) -> None:
        """`reads`: what was there before matters; otherwise (an exchange whose result nobody uses) it sets the words like a write."""
        if reads and p.key not in self.known_reads:
            self._first_read(g, iid, p, total, "atomic")
        self._follow("atomic", g, iid, p, total, (), 0)
        index = self.range_of(p, total)
        self.used[index] = True
        if not reads:
            self.known[index] = True

    def range_of(self, p: SharedPattern, total: int):
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
        ok: Any = np.asarray(known)
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
        first, last = ((int(x) - base) // element for x in (unique[0], unique[-1]))
        who: dict[str, Any] = {"thread": thread, "block": block, "line": faults.line(iid), "access": access, "count": len(offsets), "elements": len(unique)}
        where: dict[str, Any] = {"array": name, "index": index, "dims": dims, "first_index": first, "last_index": last}
        if self.machine.program.brings_by_mbarrier:
            faults.add(explain_async.not_there_yet(**where, **who))
        else:
            faults.add(explain.uninitialised_read(**where, **who, space="shared"))

    def _follow(self, access: str, g: Group, iid: int, p: SharedPattern, total: int, values: Sequence, size: int) -> None:
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
            clean = self._record(p, Access(access, g, iid, total, self.batch.time, values, size))
            if clean and not self.machine.order.active:
                following = states[self.state, key] = len(states) + 1
                self.state = following
                self.path[key] = (access, g, iid, p, total, self.batch.time)
                self.replayed = len(self.path)
            else:
                self.state = None
            return
        self._record(p, Access(access, g, iid, total, self.batch.time, values, size))

    def _replay(self) -> None:
        """Bring the records up to date with the accesses that were only followed."""
        if self.state is None or self.replayed == len(self.path):
            return
        for access, g, iid, p, total, time in list(self.path.values())[self.replayed :]:
            self._record(p, Access(access, g, iid, total, time, (), 0, report=False))
        self.replayed = len(self.path)

    def _record(self, p: SharedPattern, a: Access) -> bool:
        """Check one access against the records and enter it; True if nothing was found."""
        g, B = a.g, self.batch.B
        offsets = p.offsets if p.offsets.__class__ is ndarray else np.full(g.n, p.offsets, i64)
        if self.records.width:
            return self.records.enter(a, np.repeat(offsets, B), np.repeat(g.rows, B), np.tile(np.arange(B), g.n), True)
        return self.records.enter(a, offsets, g.rows, None, p.duplicates)

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
        self._each(access, g, iid, offsets, columns, total, (), 0)

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
        self._each("atomic", g, iid, offsets, columns, total, (), 0)
        self._spread_known()
        index = self._range(offsets, total)
        self.known[index, np.repeat(columns, max(total // self.grain, 1))] = True
        self.used[index] = True

    def _spread_known(self) -> None:
        if self.known.ndim == 1:
            self.known = np.repeat(self.known[:, None], self.batch.B, axis=1)
            self.known_writes.clear()

    def _each(self, access: str, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, values: Sequence, size: int) -> None:
        self._replay()
        self.state = None
        self.records.spread()
        rows = np.repeat(g.rows, self.batch.B) if g.cols is None else g.rows
        self.records.enter(Access(access, g, iid, total, self.batch.time, values, size), offsets, rows, columns, True)
