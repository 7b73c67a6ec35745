"""Clusters: blocks that run side by side, wait for each other and see each other's shared memory (PTX ISA 9.7.13.3 "barrier.cluster", 9.7.9.23 "mapa").

The blocks of a cluster stand side by side in one batch: column c is block c % size of cluster c // size. A shared address of another block carries
its rank: (rank + 1) << RANK_SHIFT, in the 32 bits of a shared::cluster address as well as in a generic one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .branches import branch
from .values import i64, ndarray

if TYPE_CHECKING:
    from .batch import Batch
    from .group import Group
    from .machine import Machine

RANK_SHIFT = 24  # shared memory of a block is far smaller than 2**24 bytes
OFFSET = (1 << RANK_SHIFT) - 1


def order_of_blocks(grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> ndarray:
    """Numbers of all blocks, those of each cluster one after the other."""
    gx, gy, gz = grid
    cx, cy, cz = cluster
    ids = np.arange(gx * gy * gz).reshape(gz // cz, cz, gy // cy, cy, gx // cx, cx)
    return ids.transpose(0, 2, 4, 1, 3, 5).ravel()


def peer_columns(batch: Batch, columns: ndarray, rank) -> ndarray:
    """Columns of the blocks of rank `rank` in the clusters of `columns`."""
    size = batch.machine.cluster
    return columns // size * size + rank


def local(batch: Batch, offsets: ndarray, columns: ndarray) -> tuple[ndarray, ndarray]:
    """Shared addresses that may name another block, as offsets there and the columns of the blocks."""
    rank = offsets >> RANK_SHIFT
    elsewhere = (rank > 0) & (rank <= batch.machine.cluster)
    if not elsewhere.any():
        return offsets, columns
    return np.where(elsewhere, offsets & OFFSET, offsets), np.where(elsewhere, peer_columns(batch, columns, rank - 1), columns)


class Clusters:
    """The cluster barriers of a batch."""

    def __init__(self, batch: Batch):
        self.batch, self.size = batch, batch.machine.cluster
        self.here = np.zeros((batch.T, batch.B), bool)  # threads that have arrived
        self.phase = np.zeros(batch.B // self.size, i64)  # barriers completed, for each cluster
        self.mine = np.full((batch.T, batch.B), -1, i64)  # the phase at which each thread arrived; −1: it waits for none

    def columns(self, batch: Batch, keep: ndarray) -> Clusters:
        other = Clusters.__new__(Clusters)
        other.batch, other.size = batch, self.size
        other.here, other.mine = np.ascontiguousarray(self.here[:, keep]), np.ascontiguousarray(self.mine[:, keep])
        other.phase = self.phase[keep[:: self.size] // self.size]
        return other

    def of_columns(self) -> ndarray:
        """Barriers completed, for each block."""
        return np.repeat(self.phase, self.size)

    def settle(self) -> None:
        """Complete the barrier of the clusters whose threads have all arrived or left."""
        batch = self.batch
        if not self.here.any():
            return
        by_cluster = lambda x: x.reshape(batch.T, -1, self.size)  # noqa: E731
        complete = by_cluster(self.here | batch.exited).all(axis=(0, 2)) & by_cluster(self.here).any(axis=(0, 2))
        if not complete.any():
            return
        columns = np.repeat(complete, self.size)
        self.here[:, columns] = False
        self.phase[complete] += 1
        batch.machine.stores += 1
        for g in batch.groups:
            if g.waits == "cluster":
                g.waits = ""
        self._synchronise(complete, columns)

    def _synchronise(self, complete: ndarray, columns: ndarray) -> None:
        """All threads of a cluster know what each of them did."""
        batch = self.batch
        batch.time += 1
        if complete.all():
            batch.last_sync = batch.time
            batch.partial_syncs.clear()
            batch.shared_check.barrier()
        else:
            batch.partial_syncs.append((batch.time, np.broadcast_to(columns, (batch.T, batch.B))))
            batch.shared_check.partial_sync()
        if batch.happened is not None:
            batch.happened.everybody()
        if batch.machine.check and self.size > 1:
            for cluster in np.flatnonzero(complete).tolist():
                batch.machine.order.cluster(batch, batch.ids[cluster * self.size : (cluster + 1) * self.size].tolist())


def clusters(batch: Batch) -> Clusters:
    if batch.cluster is None:
        batch.cluster = Clusters(batch)
    return batch.cluster


def checks():
    """checks.cluster, which looks into this module."""
    from .checks import cluster

    return cluster


def arrive(g: Group) -> None:
    c = clusters(g.batch)
    at = g.rows if g.cols is None else (g.rows, g.cols)
    again = c.mine[at] >= 0
    if g.batch.machine.check and again.any():
        checks().arrived_twice(g, again)
    c.here[at] = True
    c.mine[at] = c.of_columns() if g.cols is None else c.of_columns()[g.cols]
    g.batch.machine.stores += 1
    c.settle()


def wait(g: Group, next_pc: int) -> int:
    """Where the group goes on; −1 while others of the cluster have not arrived."""
    batch = g.batch
    c = clusters(batch)
    now = c.of_columns()
    mine = c.mine[g.rows] if g.cols is None else c.mine[g.rows, g.cols][:, None]
    if batch.machine.check and (mine < 0).any():
        checks().never_arrived(g, mine < 0)
    done = (now[None, :] if g.cols is None else now[g.cols][:, None]) > mine
    if done.all():
        c.mine[g.rows if g.cols is None else (g.rows, g.cols)] = -1
        return next_pc
    if done.any():
        return branch(g, done, next_pc, g.pc)
    g.waits = "cluster"
    return -1


def special(machine: Machine, g: Group, name: str, k: int) -> Any:
    """%cluster_ctaid, %clusterid, %cluster_ctarank and the like. `k`: axis."""
    dims, size = machine.cluster_dims, machine.cluster
    fixed: dict[str, int] = {"cluster_nctarank": size, "is_explicit_cluster": int(machine.clustered)}
    if name in fixed:
        return fixed[name]
    if name == "cluster_nctaid":
        return dims[k]
    if name == "nclusterid":
        return machine.grid[k] // dims[k]
    gx, gy, _ = machine.grid
    ids = g.batch.ids if g.cols is None else g.batch.ids[g.cols]
    where = (ids % gx, ids // gx % gy, ids // (gx * gy))
    if name == "cluster_ctarank":
        x, y, z = (where[j] % dims[j] for j in range(3))
        value = x + dims[0] * (y + dims[1] * z)
    else:
        value = where[k] % dims[k] if name == "cluster_ctaid" else where[k] // dims[k]
    value = value.astype(np.uint32)
    if (value == value[0]).all():
        return int(value[0])
    return value[None, :] if g.cols is None else value[:, None]


NAMES = frozenset("cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank clusterid nclusterid is_explicit_cluster".split())
