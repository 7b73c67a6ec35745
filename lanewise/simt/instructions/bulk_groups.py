"""Groups of bulk stores: what cp.async.bulk.commit_group and cp.async.bulk.wait_group count (PTX ISA 9.7.9.25, "Asynchronous copy").

A store's data is read when it is issued; until its thread waits for it, the shared memory that it comes from counts as being read.
"""

from __future__ import annotations

import numpy as np

from ..checks import proxy
from ..values import i64, ndarray
from .bulk_lanes import Lane


class Groups:
    """Bulk stores under way and the groups they were committed to, by thread."""

    def __init__(self, batch) -> None:
        self.batch = batch
        self.committed = np.zeros(batch.T, i64)
        self.pending: list[tuple[int, int, int]] = []  # (thread, its commits before the store, ticket of the read)

    def columns(self, batch) -> Groups:
        other = Groups(batch)
        other.committed, other.pending = self.committed.copy(), list(self.pending)
        return other

    def issue(self, lane: Lane, iid: int, words: ndarray) -> None:
        ticket = proxy.begin_read(lane.g, iid, words)
        if ticket:
            self.pending.append((lane.row, int(self.committed[lane.row]), ticket))

    def wait(self, g, left: int) -> None:
        rows = set(np.unique(g.rows).tolist())
        still = []
        for row, group, ticket in self.pending:
            if row in rows and group < self.committed[row] - left:
                proxy.end_read(self.batch, ticket)
            else:
                still.append((row, group, ticket))
        self.pending = still


def groups(batch) -> Groups:
    if batch.bulk is None:
        batch.bulk = Groups(batch)
    return batch.bulk


def commit(g) -> None:
    groups(g.batch).committed[np.unique(g.rows)] += 1


def wait_group(g, left: int) -> None:
    groups(g.batch).wait(g, left)
