"""Executed cp.async under way: which lanes wait for them, and what a wait completes. See async_copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import shared_access
from ..checks.async_copy import Watched
from ..group import Group
from ..shapes import flatten, take_columns, take_rows
from ..values import i64, ndarray, u32


@dataclass(eq=False, slots=True)
class Copy:
    """One executed cp.async: the lanes that wait for it, where the data goes, and the data as words. Shapes as in a group of these lanes."""

    serial: int
    iid: int
    rows: ndarray
    cols: ndarray | None  # None: the same threads of every block
    address: object  # an int, an array or a Split, as registers are
    words: tuple
    ticket: ndarray  # commits of each lane before the copy
    waited: bool = False  # a wait has left it pending
    _group: Group | None = None

    def group(self, batch) -> Group:
        """The lanes, as a group without registers."""
        g = self._group
        if g is None or g.batch is not batch or g.n != len(self.rows):
            g = self._group = Group(batch, self.rows, self.cols, 0, [], batch.machine.program.main)
        return g

    @property
    def size(self) -> int:
        return 4 * len(self.words)

    def part(self, index: ndarray) -> Copy:
        """Some lanes of a copy whose lanes are listed one by one."""
        assert self.cols is not None
        words = tuple(take_rows(x, index) for x in self.words)
        return Copy(self.serial, self.iid, self.rows[index], self.cols[index], take_rows(self.address, index), words, self.ticket[index], self.waited)

    def flattened(self, B: int) -> Copy:
        """The same with the lanes of all blocks listed one by one."""
        if self.cols is not None:
            return self
        n = len(self.rows)
        rows, cols = np.repeat(self.rows, B), np.tile(np.arange(B), n)
        words = tuple(flatten(x, n, B) for x in self.words)
        return Copy(self.serial, self.iid, rows, cols, flatten(self.address, n, B), words, self.ticket.reshape(-1, 1), self.waited)

    def columns(self, keep: ndarray) -> Copy | None:
        """The copy's lanes in the blocks `keep`."""
        if self.cols is None:
            words = tuple(take_columns(x, keep) for x in self.words)
            return Copy(self.serial, self.iid, self.rows, None, take_columns(self.address, keep), words, self.ticket[:, keep], self.waited)
        index = np.flatnonzero(np.isin(self.cols, keep))
        if not len(index):
            return None
        part = self.part(index)
        part.cols = np.searchsorted(keep, self.cols[index])
        return part


class Copies:
    """The copies under way in a batch."""

    def __init__(self, batch) -> None:
        self.batch = batch
        self.pending: list[Copy] = []
        self.committed = np.zeros((batch.T, batch.B), i64)  # groups that each thread has committed
        self.issued = 0

    def columns(self, batch, keep: ndarray) -> Copies:
        other = Copies.__new__(Copies)
        other.batch, other.issued = batch, self.issued
        other.pending = [part for part in (copy.columns(keep) for copy in self.pending) if part is not None]
        other.committed = self.committed[:, keep]
        return other

    def issue(self, g, iid: int, address, words: tuple) -> None:
        batch = self.batch
        ticket = self.committed[g.rows] if g.cols is None else self.committed[g.rows, g.cols][:, None]
        self.issued += 1
        copy = Copy(self.issued, iid, g.rows, g.cols, address, words, ticket)
        good = _inside(g, iid, address, copy.size)
        if good is not None:
            if not len(good):
                return
            copy = copy.flattened(batch.B).part(good)
        self.pending.append(copy)
        if batch.machine.check:
            if batch.shared_check.__class__ is not Watched:
                batch.shared_check = Watched(batch.shared_check, batch)
            batch.shared_check.start(copy)

    def wait(self, g, left: int) -> None:
        """The lanes of g go on only when all but their last `left` committed groups are complete."""
        still: list[Copy] = []
        for copy in self.pending:
            done = self._done(g, copy, left)
            if done is None:
                still.append(copy)
            elif done is True:
                self._finish(copy)
            else:
                flat = copy.flattened(self.batch.B)
                still.append(flat.part(np.flatnonzero(~done)))
                self._finish(flat.part(np.flatnonzero(done)))
        self.pending = still

    def land_with(self, g, b) -> None:
        """All copies of these lanes, committed or not, will be seen with mbarrier `b`."""
        still: list[Copy] = []
        for copy in self.pending:
            flat = copy.flattened(self.batch.B)
            keys = set((np.repeat(g.rows, self.batch.B) * self.batch.B + np.tile(np.arange(self.batch.B), g.n)).tolist()
                       if g.cols is None else (g.rows * self.batch.B + g.cols).tolist())  # fmt: skip
            mine = np.array([k in keys for k in (flat.rows * self.batch.B + flat.cols).tolist()])
            for lanes, done in ((np.flatnonzero(~mine), False), (np.flatnonzero(mine), True)):
                if not len(lanes):
                    continue
                part = copy if len(lanes) == len(mine) else flat.part(lanes)
                if not done:
                    still.append(part)
                    continue
                self._finish(part)
                if self.batch.machine.check:
                    self.batch.shared_check.lands_with(part, b)
        self.pending = still

    def _done(self, g, copy: Copy, left: int) -> ndarray | bool | None:
        """Which lanes of the copy this wait completes: None for none of them, True for all, else a mask over the flattened lanes."""
        B = self.batch.B
        if g.cols is None:
            mine = g.inverse[copy.rows] >= 0
            mine = mine[:, None]
        elif copy.cols is not None:
            mine = g.inverse[copy.rows * B + copy.cols][:, None] >= 0
        else:
            mine = g.inverse[copy.rows[:, None] * B + np.arange(B)] >= 0
        if not mine.any():
            return None
        committed = self.committed[copy.rows] if copy.cols is None else self.committed[copy.rows, copy.cols][:, None]
        done = mine & (copy.ticket < committed - left)
        if done.all():
            return True
        copy.waited |= bool((mine & ~done).any())
        return done.ravel() if done.any() else None

    def _finish(self, copy: Copy) -> None:
        """The data is there: a store of the thread that issued the copy, now."""
        batch = self.batch
        if batch.machine.check:
            batch.shared_check.end(copy)
        shared_access.store_shared(copy.group(batch), copy.iid, copy.address, copy.words, u32, 4)


def _inside(g, iid: int, address, size: int) -> ndarray | None:
    """Lanes whose destination is in bounds and aligned (the others are reported); None: all of them."""
    m = g.batch.machine
    p = shared_access.shared_pattern(m, g, address, size)
    if p is not None and p.aligned:
        low, high = m.shared_extent(iid, p.low)
        if low <= p.low and p.high + size <= high:
            return None
    return shared_access.each_shared(g, iid, address, size, "write")[0]


def copies(batch) -> Copies:
    if batch.copies is None:
        batch.copies = Copies(batch)
    return batch.copies
