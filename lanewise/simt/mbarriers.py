"""mbarrier objects of a batch of blocks: arrivals, expected bytes, phases, and who waits for them (PTX ISA 9.7.13.15, "mbarrier").

An mbarrier counts arrivals and, beside them, bytes of asynchronous copies. Its phase is complete when no arrival is pending and the byte count is
zero; the next phase then begins with the count of arrivals that `init` gave. A thread that waits is parked until a phase completes; where nobody
could go on it is woken with the answer "not yet", as the hardware's time limit does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .access import lanes_group, lanes_of
from .clusters import OFFSET, RANK_SHIFT, peer_columns
from .group import Group
from .shapes import take_rows
from .values import Split, full, i64, ndarray, signed

if TYPE_CHECKING:
    from .batch import Batch

MOST = (1 << 20) - 1  # arrivals, and bytes, of a phase


@dataclass(eq=False, slots=True)
class Barrier:
    """One mbarrier in every block of the batch; arrays have one entry a block."""

    offset: int
    slot: int  # its number among the batch's barriers
    expected: ndarray  # arrivals of a phase
    pending: ndarray  # arrivals still to come
    tx: ndarray  # bytes announced and not yet arrived (negative: arrived before they were announced)
    phase: ndarray  # phases completed
    announced: ndarray  # bytes that this phase's expect_tx announced
    live: ndarray
    init: tuple[int, int, int]  # (instruction, thread, time) of mbarrier.init
    visible: bool = False  # to asynchronous copies: a fence came after init
    coming: Any = None  # for each rank of a block in its cluster, what the arrivals of this phase published; see checks.happened
    done: Any = None  # the same of all phases completed
    remote: dict = field(default_factory=dict)  # (rank of the block, thread of another block) → time and instruction of its last arrival there
    sent: dict = field(default_factory=dict)  # (rank of the block, of the block whose memory it reads) → phase, thread and instruction of the last copy
    data: list = field(default_factory=list)  # copies that land when a phase is seen complete: (its number in each block, −1 where none goes; the data)

    def columns(self, keep: ndarray) -> Barrier:
        return replace(
            self, expected=self.expected[keep], pending=self.pending[keep], tx=self.tx[keep], phase=self.phase[keep], announced=self.announced[keep],
            live=self.live[keep], data=[(phase[keep], landing.columns(keep)) for phase, landing in self.data if (phase[keep] >= 0).any()],
        )  # fmt: skip


class Barriers:
    """The mbarriers of one batch, by their offset in shared memory."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self.at: dict[int, Barrier] = {}
        self.slots: dict[int, int] = {}
        self.timeouts = (-1, 0)  # (machine.stores at the last one, how many since)

    def columns(self, batch: Batch, keep: ndarray) -> Barriers:
        other = Barriers(batch)
        other.at = {offset: b.columns(keep) for offset, b in self.at.items()}
        other.slots = dict(self.slots)
        return other

    # ------------------------------------------------------------------ life

    def init(self, offset: int, counts: ndarray, here: ndarray, origin: tuple[int, int, int]) -> None:
        """A barrier comes into being in the blocks `here`, with `counts` arrivals a phase."""
        batch = self.batch
        slot = self.slots.setdefault(offset, len(self.slots))
        happened = batch.happened
        if happened is not None and happened.room_for(slot):
            for other in self.at.values():
                more = np.zeros((happened.size, len(happened.nothing()) - other.done.shape[1]), i64)
                other.coming, other.done = (np.concatenate([x, more], axis=1) for x in (other.coming, other.done))
        old = self.at.get(offset)
        zero = np.zeros(batch.B, i64)
        new = Barrier(offset, slot, counts.astype(i64), counts.astype(i64), zero, zero.copy(), zero.copy(), here.copy(), origin)
        if old is not None:
            # the number of phases goes on, so that what was seen of the old barrier says nothing about the new one; parity must start at 0
            new.phase = old.phase + (old.phase & 1)
            stays = ~here & old.live
            for name in ("expected", "pending", "tx", "phase", "announced"):
                getattr(new, name)[stays] = getattr(old, name)[stays]
            new.live |= stays
        if happened is not None:
            new.coming, new.done = (np.tile(happened.nothing(), (happened.size, 1)) for _ in range(2))
        self.at[offset] = new
        self.wake(offset)

    def settle(self, b: Barrier) -> None:
        """Complete the phase in the blocks where nothing is missing any more."""
        complete = b.live & (b.pending == 0) & (b.tx == 0)
        if complete.any():
            self.complete(b, complete, 1)
            b.pending = np.where(complete, b.expected, b.pending)

    def complete(self, b: Barrier, where: ndarray, phases) -> None:
        b.phase = b.phase + where * phases
        b.announced = np.where(where, 0, b.announced)
        if b.coming is not None:
            b.done, b.coming = b.done.copy(), b.coming.copy()
            for rank in range(len(b.done)):
                here = where[rank :: len(b.done)]
                if here.any():
                    b.done[rank] = np.maximum(b.done[rank], b.coming[rank])
                if here.all():
                    b.coming[rank] = 0
        self.wake(b.offset)

    def wake(self, offset: int) -> None:
        self.batch.machine.stores += 1
        for g in self.batch.groups:
            if g.waits == "mbarrier" and offset in g.held.offsets:
                g.waits, g.held = "", None

    # ------------------------------------------------------------------ events

    def arrive(self, b: Barrier, arrivals: ndarray, columns: Any = slice(None)) -> bool:
        """`arrivals` more in the blocks `columns`; False if there are more than the phase waits for."""
        pending, expected = b.pending[columns], b.expected[columns]
        beyond = arrivals - pending
        if (beyond <= 0).all():
            b.pending = b.pending.copy()
            b.pending[columns] = pending - arrivals
            self.settle(b)
            return True
        if ((beyond > 0) & ((b.tx[columns] != 0) | (expected <= 0))).any():
            return False
        # several threads at once: the first ones complete the phase, the others arrive in the next
        through = beyond >= 0
        where = np.zeros(self.batch.B, bool)
        phases = np.zeros(self.batch.B, i64)
        where[columns], phases[columns] = through, 1 + np.maximum(beyond, 0) // np.maximum(expected, 1)
        b.pending = b.pending.copy()
        b.pending[columns] = np.where(through, expected - np.maximum(beyond, 0) % np.maximum(expected, 1), pending - arrivals)
        self.complete(b, where, phases)
        return True

    def bytes(self, b: Barrier, amount, columns: Any = slice(None)) -> None:
        """expect_tx (positive) or complete_tx (negative)."""
        self.batch.machine.stores += 1
        b.tx = b.tx.copy()
        b.tx[columns] += amount
        self.settle(b)

    def land(self, b: Barrier, phases: ndarray) -> None:
        """Copies of the phases before `phases` (one number a block) are seen: their data is there."""
        if not b.data:
            return
        still = []
        for phase, landing in b.data:
            over, under_way = (phase >= 0) & (phase < phases), phase >= phases
            if not under_way.any():
                landing.land(self.batch)
                continue
            if over.any():
                landing.columns(np.flatnonzero(over), False).land(self.batch)
                landing, phase = landing.columns(np.flatnonzero(under_way), False), np.where(under_way, phase, -1)
            still.append((phase, landing))
        b.data = still


def barriers(batch: Batch) -> Barriers:
    if batch.mbarriers is None:
        batch.mbarriers = Barriers(batch)
    return batch.mbarriers


def parts(g: Group, address) -> list[tuple[int, Group, ndarray | None]]:
    """The lanes of a group by the shared offset they name: (offset, group of the lanes, their indices; None for all of them).

    Where they name another block of the cluster, the group's columns are that block's.
    """
    size = g.batch.machine.cluster
    found = ((signed(offset, 64), part, index) for offset, part, index in _by_offset(g, address))
    return [_elsewhere(g, *part) if 0 < part[0] >> RANK_SHIFT <= size else part for part in found]


def _elsewhere(g: Group, address: int, part: Group, index: ndarray | None) -> tuple[int, Group, ndarray]:
    """A part whose barrier lies in the block that the rank in the address names."""
    batch = g.batch
    index = np.arange(g.n) if index is None else index
    rows, columns = part.rows, part.cols
    if columns is None:
        rows, columns = np.repeat(rows, batch.B), np.tile(np.arange(batch.B), len(index))
        index = (index[:, None] * batch.B + np.arange(batch.B)).ravel()
    there = peer_columns(batch, columns, (address >> RANK_SHIFT) - 1)
    return address & OFFSET, Group(batch, rows, there, g.pc, [], g.code), index


def _by_offset(g: Group, address) -> list[tuple[int, Group, ndarray | None]]:
    if address.__class__ is int:
        return [(address, g, None)]
    x = address.full() if address.__class__ is Split else address
    if x.size == 1 or (x == x.flat[0]).all():
        return [(int(x.flat[0]), g, None)]
    out: list[tuple[int, Group, ndarray | None]] = []
    if g.cols is None and x.shape[1] == 1:
        for offset in np.unique(x).tolist():
            index = np.flatnonzero(x[:, 0] == offset)
            out.append((int(offset), Group(g.batch, g.rows[index], None, g.pc, [], g.code), index))
        return out
    lanes = lanes_of(g, address)
    for offset in np.unique(lanes).tolist():
        index = np.flatnonzero(lanes == offset)
        out.append((int(offset), lanes_group(g, index), index))
    return out


def of_part(g: Group, part: Group, index: ndarray | None, value):
    """A register's value for the lanes of a part."""
    if index is None or value.__class__ not in (ndarray, Split):
        return value
    if part.cols is None or g.cols is not None:
        return take_rows(value, index)
    return np.broadcast_to(full(value), g.shape).reshape(-1, 1)[index]


def per_block(part: Group, value) -> tuple[ndarray, Any]:
    """(sum over the lanes of each block, the blocks: a slice or column numbers)."""
    v = np.broadcast_to(np.asarray(full(value), dtype=i64) if value.__class__ is not int else i64(value), part.shape)
    if part.cols is None:
        return v.sum(axis=0), slice(None)
    columns = np.unique(part.cols)
    return np.bincount(part.cols, weights=v[:, 0], minlength=part.batch.B).astype(i64)[columns], columns


def sources(g: Group, part: Group, index: ndarray | None) -> tuple[ndarray, ndarray]:
    """For each lane of a part that stands alone with its block: the lane's own block column, and the one whose barrier it names."""
    B = g.batch.B
    if part.cols is None:
        columns = np.tile(np.arange(B), part.n)
        return columns, columns
    own = part.cols if index is None else index % B if g.cols is None else g.cols[index]
    return own, part.cols


def late(b: Barrier, part: Group, states: ndarray, amount: ndarray, columns: Any) -> ndarray | None:
    """Which lanes (flattened) arrive for a phase that stays open: more came at once than a phase waits for. None: none of them.

    `states` is what each lane finds, `amount` the arrivals of each block in `columns`.
    """
    beyond = amount - b.pending[columns]
    if not (beyond > 0).any():
        return None
    last = np.zeros(part.batch.B, i64)
    last[columns] = b.phase[columns] + 1 + np.maximum(beyond, -1) // np.maximum(b.expected[columns], 1)
    where = last[None, :] if part.cols is None else last[part.cols][:, None]
    phases = np.broadcast_to(states, part.shape) >> np.uint64(40)
    return (phases.astype(i64) >= where).ravel()


def publish(g: Group, part: Group, index: ndarray | None, b: Barrier, iid: int, behind: ndarray | None = None, now: bool = True) -> None:
    """The lanes of a part arrive: what they know goes to the barriers they name.

    `behind`: which of them are late; they are told of when the phase of the others is complete, `now` False.
    """
    happened = g.batch.happened
    assert happened is not None
    own, there = sources(g, part, index)
    rows = np.repeat(part.rows, g.batch.B) if part.cols is None else part.rows
    b.coming = b.coming.copy()
    for rank in range(happened.size):
        here = there % happened.size == rank
        people = np.unique(happened.of(rows, own)[here if behind is None else here & ~behind])
        if not now:
            people = np.setdiff1d(happened.of(rows, own)[here], people)
        if len(people):
            b.coming[rank] = np.maximum(b.coming[rank], happened.released(people))
            for who in people[people // happened.T != rank].tolist():
                b.remote[rank, who] = (g.batch.time - 1, iid)
