"""What a batch knows of its warpgroups' asynchronous products: groups committed and waited for, fences, matrices being read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import proxy
from ..checks import wgmma as checks
from ..group import Group
from ..values import i64, ndarray
from .warp import warps

if TYPE_CHECKING:
    from ..batch import Batch
    from .wgmma import Product


@dataclass(eq=False, slots=True)
class Reading:
    """A matrix in shared memory that an unfinished product of one warpgroup reads. `columns`: its block, None: all blocks of the batch."""

    ticket: Any  # of checks.proxy
    warpgroup: int
    column: int | None
    group: int  # groups committed before it


class State:
    """Arrays are (warpgroups, blocks)."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        shape = (-(-batch.W // 4), batch.B)
        self.committed = np.zeros(shape, i64)
        self.finished = np.zeros(shape, i64)  # groups that a wait has seen the end of
        self.waited = np.zeros(shape, i64)  # groups committed before the last wait
        self.fenced = np.zeros(shape, bool)
        self.begun = np.zeros(shape, bool)  # had its first fence
        self.issued: dict[int, ndarray] = {}  # site of a product → groups committed before its last issue, −1: none
        self.reading: list[Reading] = []

    def columns(self, batch: Batch, keep: ndarray) -> State:
        other = State.__new__(State)
        other.batch = batch
        for name in ("committed", "finished", "waited", "fenced", "begun"):
            setattr(other, name, np.ascontiguousarray(getattr(self, name)[:, keep]))
        other.issued = {site: np.ascontiguousarray(x[:, keep]) for site, x in self.issued.items()}
        place = {int(c): k for k, c in enumerate(keep)}
        other.reading = [
            Reading(r.ticket, r.warpgroup, r.column if r.column is None else place[r.column], r.group)
            for r in self.reading
            if r.column is None or r.column in place
        ]
        return other

    def where(self, g: Group) -> tuple:
        """Index of the group's warpgroups into the arrays."""
        got = g._cache.get("warpgroups")
        if got is None:
            if g.cols is None:
                got = (np.unique(g.rows >> 7), slice(None))
            else:
                pairs = np.unique((g.rows >> 7) * self.batch.B + g.cols)
                got = (pairs // self.batch.B, pairs % self.batch.B)
            g._cache["warpgroups"] = got
        return got

    def issue(self, g: Group, p: Product, a_site: int, b_site: int, a: ndarray | None, b: ndarray) -> None:
        """A product begins. `a`, `b`: descriptors, (warps of g, columns or 1); None: registers."""
        at = self.where(g)
        if self.batch.machine.check:
            checks.begins(self, g, p, b_site, at)
            for part, warpgroup, column, warp in self._parts(g):
                for site, descriptors, across, deep in ((a_site, a, 64, p.a_deep), (b_site, b, p.n, p.b_deep)):
                    for bits in () if descriptors is None else np.unique(descriptors[warp]).tolist():
                        self._reads(part, warpgroup, column, site, checks.matrix(part, site, bits, across, deep))
        seen = self.issued.get(b_site)
        if seen is None:
            seen = self.issued[b_site] = np.full(self.committed.shape, -1, i64)
        seen[at] = self.committed[at]

    def _reads(self, part: Group, warpgroup: int, column: int | None, site: int, words: ndarray | None) -> None:
        if words is not None:
            before = int(self.committed[warpgroup, 0 if column is None else column])
            self.reading.append(Reading(proxy.begin_read(part, site, words), warpgroup, column, before))

    def _parts(self, g: Group) -> list[tuple[Group, int, int | None, int]]:
        """The group's warpgroups one by one, without registers: (lanes, warpgroup, column or None, first of its warps in the group)."""
        got = g._cache.get("warpgroup_parts")
        if got is None:
            got = g._cache["warpgroup_parts"] = []
            for warpgroup, column in zip(*self.where(g), strict=True) if g.cols is not None else ((w, None) for w in self.where(g)[0]):
                mine = g.rows >> 7 == warpgroup
                if column is not None:
                    mine &= g.cols == column
                rows = g.rows[mine]
                part = Group(self.batch, rows, None if column is None else np.full(len(rows), column), g.pc, [], g.code)
                warp = int(warps(g).warp[np.flatnonzero(mine)[0]])
                got.append((part, int(warpgroup), None if column is None else int(column), warp))
        for part, *_ in got:
            part.pc, part.frames = g.pc, g.frames
        return got

    def commit(self, g: Group) -> None:
        at = self.where(g)
        self.committed[at] += 1
        self.fenced[at] = False

    def wait(self, g: Group, left: int) -> None:
        at = self.where(g)
        self.waited[at] = self.committed[at]
        self.finished[at] = np.maximum(self.finished[at], self.committed[at] - left)
        still = []
        for r in self.reading:
            done = self.finished[r.warpgroup] if r.column is None else self.finished[r.warpgroup, r.column]
            if np.all(done > r.group):
                proxy.end_read(self.batch, r.ticket)
            else:
                still.append(r)
        self.reading = still

    def unfinished(self, g: Group, site: int) -> ndarray:
        """Which of the group's warpgroups have not seen the end of the last product of this site."""
        issued = self.issued.get(site)
        at = self.where(g)
        if issued is None:
            return np.zeros(self.finished[at].shape, bool)
        return (issued[at] >= 0) & (issued[at] >= self.finished[at])


def state(batch: Batch) -> State:
    if batch.wgmma is None:
        batch.wgmma = State(batch)
    return batch.wgmma


# ------------------------------------------------------------------------------------------------ what generated code calls


def fence(g: Group) -> None:
    s = state(g.batch)
    at = s.where(g)
    s.fenced[at] = s.begun[at] = True


def commit(g: Group) -> None:
    state(g.batch).commit(g)


def wait(g: Group, left: int) -> None:
    state(g.batch).wait(g, left)


def use(g: Group, sites: tuple[int, ...], number: int | None, line: int, adds: bool, p: Any, changes: bool = False) -> None:
    checks.register_used(state(g.batch), g, sites, number, line, adds, p, changes)
