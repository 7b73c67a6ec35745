"""Groups of bulk stores: what cp.async.bulk.commit_group and cp.async.bulk.wait_group count (PTX ISA 9.7.9.25, "Asynchronous copy").

A store's data is read when it is issued; until its thread waits for it, the shared memory that it comes from counts as being read.
"""

from __future__ import annotations

import numpy as np

from ..checks import landing, proxy
from ..values import i64, ndarray
from .bulk_lanes import Lane


class Groups:
    """Bulk stores under way and the groups they were committed to, by thread."""

    def __init__(self, batch) -> None:
        self.batch = batch
        self.committed = np.zeros(batch.T, i64)
        self.pending: list[tuple[int, int, int]] = []  # (thread, its commits before the store, ticket of the read)
        self.landing: list[landing.Landing] = []  # those that still write global memory

    def columns(self, batch) -> Groups:
        other = Groups(batch)
        other.committed, other.pending = self.committed.copy(), list(self.pending)
        other.landing = [store for store in self.landing if (batch.ids == store.block).any()]
        return other

    def issue(self, lane: Lane, iid: int, words: ndarray) -> None:
        ticket = proxy.begin_read(lane.g, iid, words)
        if ticket:
            self.pending.append((lane.row, int(self.committed[lane.row]), ticket))

    def wait(self, g, left: int, read: bool) -> None:
        """`read`: until shared memory has been read alone."""
        rows = set(np.unique(g.rows).tolist())
        still = []
        for row, group, ticket in self.pending:
            if row in rows and group < self.committed[row] - left:
                proxy.end_read(self.batch, ticket)
            else:
                still.append((row, group, ticket))
        self.pending = still
        blocks = set(self.batch.ids[g.block_columns.ravel()].tolist())
        mine = [s.row in rows and s.block in blocks and s.group < self.committed[s.row] - left for s in self.landing]
        self.landing = [store for store, over in zip(self.landing, mine, strict=True) if not (over and landing.end(store, read))]


def groups(batch) -> Groups:
    if batch.bulk is None:
        batch.bulk = Groups(batch)
    return batch.bulk


def commit(g) -> None:
    groups(g.batch).committed[np.unique(g.rows)] += 1


def wait_group(g, left: int, read: bool) -> None:
    groups(g.batch).wait(g, left, read)
