"""What each thread knows to have happened: the order that mbarriers, warp barriers, block barriers and cluster barriers make.

Every thread has a vector: for each thread of its cluster the time before which that thread's accesses are known, and behind those, for each mbarrier
of each block, how many of its phases are known to be complete. An arrival publishes the arriving thread's vector with the phase, a successful wait
takes it over. These are vector clocks (Mattern, "Virtual Time and Global States of Distributed Systems", 1989).

Threads are numbered in their cluster: rank of the block · threads of a block + thread. Those that do the same together share one vector, which is
never changed in place: the cost is that of the groups, not of the threads. The vectors hold for all clusters of a batch: these run the same
instructions. Where some of them don't, the vectors know more than each cluster does, which errs on the quiet side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..values import i64, ndarray

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group

_SLOTS = 16  # mbarriers of a block that there is room for at first


class Happened:
    """The vectors of one batch. `slot` numbers the mbarriers of a block."""

    def __init__(self, batch: Batch):
        self.batch, self.T, self.size = batch, batch.T, batch.machine.cluster
        self.threads = self.T * self.size
        self.slots = _SLOTS
        self.vectors: dict[int, ndarray] = {0: self.nothing()}
        self.which = np.zeros(self.threads, i64)  # the vector of each thread
        self.number = 0

    def columns(self, batch: Batch) -> Happened:
        other = Happened.__new__(Happened)
        other.batch, other.T, other.size, other.threads = batch, self.T, self.size, self.threads
        other.slots, other.number = self.slots, self.number
        other.vectors, other.which = dict(self.vectors), self.which.copy()
        return other

    def nothing(self) -> ndarray:
        return np.zeros(self.threads + self.slots * self.size, i64)

    def room_for(self, slot: int) -> bool:
        """Make room for mbarrier number `slot`; True if the vectors have grown."""
        if slot < self.slots:
            return False
        self.vectors = {k: np.concatenate([v, np.zeros(self.slots * self.size, i64)]) for k, v in self.vectors.items()}
        self.slots *= 2
        return True

    # ------------------------------------------------------------------ numbers

    def of(self, rows: ndarray, columns: ndarray) -> ndarray:
        """Lane by lane, the number in its cluster of thread `rows` of block column `columns`."""
        return rows if self.size == 1 else columns % self.size * self.T + rows

    def people(self, g: Group) -> ndarray:
        """The numbers of a group's threads, each once."""
        if self.size == 1:
            return np.unique(g.rows)
        if g.cols is None:
            return (np.arange(self.size)[:, None] * self.T + g.rows).ravel()
        return np.unique(self.of(g.rows, g.cols))

    def members(self, mask: ndarray) -> ndarray:
        """The numbers of the threads that a mask of threads × block columns names."""
        if self.size == 1:
            return np.flatnonzero(mask.any(axis=1))
        mask = np.broadcast_to(mask, (self.T, self.batch.B)).reshape(self.T, -1, self.size)
        return np.flatnonzero(mask.any(axis=1).T.ravel())

    def slot(self, number: int, rank: int) -> int:
        """Where a vector holds the phases of an mbarrier of the block `rank`."""
        return self.threads + number * self.size + rank

    # ------------------------------------------------------------------ events

    def released(self, people: ndarray) -> ndarray:
        """What threads publish now: all they know and all they did."""
        self.batch.time += 1
        known = self._joined(people).copy()
        known[people] = self.batch.time
        return known

    def acquire(self, people: ndarray, published: ndarray, slot: int = -1, phases: int = 0) -> None:
        """Threads have seen `phases` phases of an mbarrier complete (see `slot`; −1: none), with what was published there."""
        for k, mine in self._by_vector(people):
            old = self.vectors[k]
            if (slot < 0 or old[slot] >= phases) and not (published > old).any():
                continue
            new = np.maximum(old, published)
            if slot >= 0:
                new[slot] = max(new[slot], phases)
            self._give(mine, new)

    def barrier(self) -> None:
        """All threads of a block have met, in every block."""
        for rank in range(self.size):
            self.together(np.arange(rank * self.T, (rank + 1) * self.T))

    def everybody(self) -> None:
        """All threads of a cluster have met."""
        self.together(np.arange(self.threads))

    def together(self, people: ndarray) -> None:
        """Some threads have met: each knows what the others knew and did. Call it after the batch's time went on."""
        new = self._joined(people).copy()
        new[people] = self.batch.time
        self._give(people, new)

    def blocks(self, people: ndarray) -> None:
        """The threads of each block among `people` have met."""
        for rank in np.unique(people // self.T):
            self.together(people[people // self.T == rank])

    def warps(self, people: ndarray) -> None:
        """The threads of each warp among `people` have met."""
        warp = people // self.T * 32 + (people % self.T >> 5)
        for number in np.unique(warp):
            self.together(people[warp == number])

    # ------------------------------------------------------------------ questions

    def times(self, who: int) -> ndarray:
        """For each thread the time before which its accesses are known to thread `who`."""
        return self.vectors[int(self.which[who])][: self.threads]

    def knows(self, people: ndarray, others: ndarray, times: ndarray) -> ndarray:
        """Lane by lane: whether thread `people` knows what thread `others` did at `times`."""
        which = self.which[people]
        out = np.empty(len(people), bool)
        for k in np.unique(which):
            here = which == k
            out[here] = self.vectors[int(k)][others[here]] > times[here]
        return out | (people == others)

    def in_block(self, rows: ndarray, others: ndarray, times: ndarray, columns: ndarray | None) -> ndarray:
        """The same for threads of one block: of block column `columns`, lane by lane, or (None) of every block."""
        if columns is not None:
            return self.knows(self.of(rows, columns), self.of(others, columns), times)
        out = self.knows(rows, others, times)
        for rank in range(1, self.size):
            out &= self.knows(rank * self.T + rows, rank * self.T + others, times)
        return out

    def seen(self, people: ndarray, number: int) -> ndarray:
        """How many phases of their own block's mbarrier each thread has seen complete."""
        which, slots = self.which[people], self.threads + number * self.size + people // self.T
        if self.size == 1 and (which == which[0]).all():
            return np.full(len(people), self.vectors[int(which[0])][slots[0]])
        out = np.empty(len(people), i64)
        for k in np.unique(which):
            here = which == k
            out[here] = self.vectors[int(k)][slots[here]]
        return out

    def all_have_seen(self, people: ndarray, number: int, phase: int) -> bool:
        """Whether every one of these threads has seen phase number `phase` of its own block's mbarrier complete."""
        if self.size > 1:
            return bool((self.seen(people, number) > phase).all())
        which = self.which[people]
        kinds = which[:1] if (which == which[0]).all() else np.unique(which)
        return all(self.vectors[int(k)][self.threads + number] > phase for k in kinds)

    # ------------------------------------------------------------------ parts

    def _by_vector(self, people: ndarray):
        which = self.which[people]
        if (which == which[0]).all():
            return [(int(which[0]), people)]
        return [(int(k), people[which == k]) for k in np.unique(which)]

    def _joined(self, people: ndarray) -> ndarray:
        vectors = [self.vectors[k] for k, _ in self._by_vector(people)]
        return vectors[0] if len(vectors) == 1 else np.maximum.reduce(vectors)

    def _give(self, people: ndarray, vector: ndarray) -> None:
        self.number += 1
        self.vectors[self.number] = vector
        self.which[people] = self.number
        if len(self.vectors) > 2 * self.threads + 64:
            used = set(np.unique(self.which).tolist())
            self.vectors = {k: v for k, v in self.vectors.items() if k in used}
