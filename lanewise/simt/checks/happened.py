"""What each thread of a block knows to have happened: the order that mbarriers, warp barriers and block barriers make.

Every thread has a vector: for each thread of its block the time before which that thread's accesses are known, and behind those, for each mbarrier
of the block, how many of its phases are known to be complete. An arrival publishes the arriving thread's vector with the phase, a successful wait
takes it over. These are vector clocks (Mattern, "Virtual Time and Global States of Distributed Systems", 1989).

Threads that do the same together share one vector, which is never changed in place: the cost is that of the groups, not of the threads.
The vectors hold for all blocks of a batch: its blocks run the same instructions. Where some of them don't, the vectors know more than each
block does, which errs on the quiet side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..values import i64, ndarray

if TYPE_CHECKING:
    from ..batch import Batch

_SLOTS = 16  # mbarriers that there is room for at first


class Happened:
    """The vectors of one batch. Rows are thread numbers in the block; `slot` numbers the mbarriers."""

    def __init__(self, batch: Batch):
        self.batch, self.T = batch, batch.T
        self.slots = _SLOTS
        self.vectors: dict[int, ndarray] = {0: np.zeros(batch.T + _SLOTS, i64)}
        self.which = np.zeros(batch.T, i64)  # the vector of each thread
        self.number = 0

    def columns(self, batch: Batch) -> Happened:
        other = Happened.__new__(Happened)
        other.batch, other.T, other.slots, other.number = batch, self.T, self.slots, self.number
        other.vectors, other.which = dict(self.vectors), self.which.copy()
        return other

    def nothing(self) -> ndarray:
        return np.zeros(self.T + self.slots, i64)

    def room_for(self, slot: int) -> bool:
        """Make room for mbarrier number `slot`; True if the vectors have grown."""
        if slot < self.slots:
            return False
        self.vectors = {k: np.concatenate([v, np.zeros(self.slots, i64)]) for k, v in self.vectors.items()}
        self.slots *= 2
        return True

    # ------------------------------------------------------------------ events

    def released(self, rows: ndarray) -> ndarray:
        """What threads publish now: all they know and all they did."""
        self.batch.time += 1
        known = self._joined(rows).copy()
        known[rows] = self.batch.time
        return known

    def acquire(self, rows: ndarray, published: ndarray, slot: int, phases: int) -> None:
        """Threads have seen `phases` phases of an mbarrier complete, with what was published there."""
        for k, mine in self._by_vector(rows):
            old = self.vectors[k]
            if old[self.T + slot] >= phases and not (published > old).any():
                continue
            new = np.maximum(old, published)
            new[self.T + slot] = max(new[self.T + slot], phases)
            self._give(mine, new)

    def barrier(self) -> None:
        """All threads of the block have met."""
        self.together(np.arange(self.T))

    def together(self, rows: ndarray) -> None:
        """Some threads have met: each knows what the others knew and did. Call it after the batch's time went on."""
        new = self._joined(rows).copy()
        new[rows] = self.batch.time
        self._give(rows, new)

    def warps(self, rows: ndarray) -> None:
        """The threads of each warp among `rows` have met."""
        for warp in np.unique(rows >> 5):
            self.together(rows[rows >> 5 == warp])

    # ------------------------------------------------------------------ questions

    def times(self, row: int) -> ndarray:
        """For each thread the time before which its accesses are known to `row`."""
        return self.vectors[int(self.which[row])][: self.T]

    def knows(self, rows: ndarray, others: ndarray, times: ndarray) -> ndarray:
        """Lane by lane: whether thread `rows` knows what thread `others` did at `times`."""
        which = self.which[rows]
        out = np.empty(len(rows), bool)
        for k in np.unique(which):
            here = which == k
            out[here] = self.vectors[int(k)][others[here]] > times[here]
        return out | (rows == others)

    def seen(self, rows: ndarray, slot: int) -> ndarray:
        """How many phases of an mbarrier each thread has seen complete."""
        which = self.which[rows]
        if (which == which[0]).all():
            return np.full(len(rows), self.vectors[int(which[0])][self.T + slot])
        table = {int(k): self.vectors[int(k)][self.T + slot] for k in np.unique(which)}
        return np.array([table[k] for k in which.tolist()], i64)

    def all_have_seen(self, rows: ndarray, slot: int, phase: int) -> bool:
        """Whether every one of these threads has seen phase number `phase` complete."""
        which = self.which[rows]
        kinds = which[:1] if (which == which[0]).all() else np.unique(which)
        return all(self.vectors[int(k)][self.T + slot] > phase for k in kinds)

    # ------------------------------------------------------------------ parts

    def _by_vector(self, rows: ndarray):
        which = self.which[rows]
        if (which == which[0]).all():
            return [(int(which[0]), rows)]
        return [(int(k), rows[which == k]) for k in np.unique(which)]

    def _joined(self, rows: ndarray) -> ndarray:
        vectors = [self.vectors[k] for k, _ in self._by_vector(rows)]
        return vectors[0] if len(vectors) == 1 else np.maximum.reduce(vectors)

    def _give(self, rows: ndarray, vector: ndarray) -> None:
        self.number += 1
        self.vectors[self.number] = vector
        self.which[rows] = self.number
        if len(self.vectors) > 2 * self.T + 64:
            used = set(np.unique(self.which).tolist())
            self.vectors = {k: v for k, v in self.vectors.items() if k in used}
