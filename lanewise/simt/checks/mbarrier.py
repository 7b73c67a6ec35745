"""What can be wrong with an mbarrier: not initialised, not visible yet, too many arrivals, a phase that never completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain_async, explain_mbarrier
from ..values import Value, ndarray
from ..words import at_line, element, thread_ranges

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..mbarriers import Barrier


def on_line(batch: Batch, iid: int) -> str:
    """The end of a phrase: the line, and for a helper the line that calls it."""
    site = batch.machine.program.sites[iid]
    chain = site.instruction.inlined
    return at_line(site.line) + (f" (called on line {chain[-1][1]})" if chain and chain[-1][1] != site.line else "")


def name_of(batch: Batch, iid: int, offset: int) -> str:
    """The barrier as the source names it: `full[2]`."""
    name, index, size, _, dims = batch.machine.faults.shared_at(iid, offset)
    return name if size == 1 and index == 0 else element(name, index, dims)


def name_at(batch: Batch, offset: int) -> str:
    """The name of a barrier that has been initialised."""
    b = batch.mbarriers.at.get(offset)
    return name_of(batch, b.init[0], offset) if b is not None else "mbarrier"


def _where(batch: Batch, part: Group, iid: int, offset: int, lane: int = 0) -> dict[str, Any]:
    """What every message about a barrier says: its name, the line, the thread."""
    thread, block = batch.machine.faults.lane(part, lane)
    return {"mbarrier": name_of(batch, iid, offset), "line": batch.machine.faults.line(iid), "thread": thread, "block": block}


def _of_row(batch: Batch, g: Group, row: int) -> int:
    """The number of a thread's first lane in the flattened group."""
    return int(np.flatnonzero(g.rows == row)[0]) * (batch.B if g.cols is None else 1)


def initialised(batch: Batch, g: Group, iid: int, offset: int, rows: ndarray, counts: ndarray, several: bool) -> None:
    """mbarrier.init by the threads `rows`."""
    faults = batch.machine.faults
    where = _where(batch, g, iid, offset, _of_row(batch, g, int(rows[0])))
    old = batch.mbarriers.at.get(offset) if batch.mbarriers is not None else None
    if counts.min() < 1:
        faults.add(explain_mbarrier.barrier_count(**where, expected=int(counts.min())))
    if several:
        faults.add(explain_mbarrier.initialised_by_several(**where, rows=sorted(set(rows.tolist()))))
    elif old is not None and old.live.any():
        faults.add(explain_mbarrier.initialised_again(**where, other_line=faults.line(old.init[0])))


def used(batch: Batch, part: Group, iid: int, offset: int, b: Barrier | None, does: str, own: ndarray | None = None) -> None:
    """Some threads use a barrier: it must have been initialised, and they must know it. `own`: columns of the lanes' own blocks, if not the barrier's."""
    faults = batch.machine.faults
    if b is None or not b.live[slice(None) if part.cols is None else part.cols].all():
        low, high = batch.machine.shared_extent(iid, offset)
        if not low <= offset <= high - 8:
            faults.shared_out_of_bounds(part, iid, np.array([0]), np.array([offset]), "atomic", 8)
            return
        facts: dict[str, Any] = {"does": does, "at": on_line(batch, iid), "invalidated": b is not None}
        faults.add(explain_mbarrier.not_initialised(**_where(batch, part, iid, offset), **facts, distance=0 if b is not None else _distance(batch, offset)))
        return
    site, row, time = b.init
    happened, size = batch.happened, batch.machine.cluster
    if happened is None or (time < batch.last_sync and size == 1):
        return
    there = np.tile(np.arange(batch.B), part.n) if part.cols is None else part.cols
    rows = np.repeat(part.rows, batch.B) if part.cols is None else part.rows
    people, init = happened.of(rows, there if own is None else own), happened.of(np.full(len(rows), row), there)
    pairs = np.unique(np.stack([people, init]), axis=1)
    ok = happened.knows(pairs[0], pairs[1], np.full(pairs.shape[1], time))
    if time < batch.last_sync:
        ok |= pairs[0] // batch.T == pairs[1] // batch.T
    if not ok.all():
        source, target = pairs[:, ~ok][:, 0].tolist()
        where = _where(batch, part, iid, offset, _of_row(batch, part, source % batch.T))
        where["block"] = faults.block(int(batch.ids[source // batch.T]))
        other: dict[str, Any] = {"other_thread": faults.thread(row), "other_line": faults.line(site), "far": source // batch.T != target // batch.T}
        faults.add(explain_mbarrier.init_not_ordered(**where, does=does, at=on_line(batch, iid), **other))


def parity(batch: Batch, part: Group, iid: int, b: Barrier, value: Value) -> None:
    """A wait names a parity, for each lane or for all: 0 or 1 (PTX ISA 9.7.13.15.16, "phaseParity")."""
    values = np.broadcast_to(value, part.shape).ravel()
    wrong = np.flatnonzero(values > 1)
    if len(wrong):
        found = int(values[wrong[0]])
        where = _where(batch, part, iid, b.offset, int(wrong[0]))
        batch.machine.faults.add(explain_mbarrier.parity_beyond_one(**where, at=on_line(batch, iid), parity=found))


def visible(batch: Batch, part: Group, iid: int, b: Barrier) -> None:
    """A copy names a barrier: a fence must have told the asynchronous proxy of its initialisation.

    Not asked of cuda::barrier: NVIDIA's own examples of cuda::memcpy_async have no fence.
    """
    if b.visible or batch.happened is None:
        return
    b.visible = True  # said once
    program = batch.machine.program
    if program.module.files.get(program.sites[b.init[0]].instruction.file, "").startswith("cuda/"):
        return
    faults = batch.machine.faults
    where = _where(batch, part, iid, b.offset)
    faults.add(explain_mbarrier.init_not_fenced(**where, at=on_line(batch, iid), other_line=faults.line(b.init[0])))


def _distance(batch: Batch, offset: int) -> int:
    """Bytes to the nearest barrier, where one is near; else 0."""
    at = list(batch.mbarriers.at) if batch.mbarriers is not None else []
    near = min(at, key=lambda x: abs(x - offset), default=None)
    return near - offset if near is not None and abs(near - offset) < 256 else 0


def touched(batch: Batch, g: Group, iid: int, offset: int, how: str) -> None:
    """A plain access, or a copy ("copy"), to the 8 bytes of a barrier in use."""
    b = next((b for b in batch.mbarriers.at.values() if b.offset <= offset < b.offset + 8 and b.live.any()), None)
    if b is not None:
        faults = batch.machine.faults
        where = _where(batch, g, iid, b.offset) | {"mbarrier": name_at(batch, b.offset)}
        faults.add(explain_mbarrier.barrier_touched(**where, access=how, at=on_line(batch, iid), other_line=faults.line(b.init[0])))


def too_many(batch: Batch, part: Group, iid: int, b: Barrier, amount: ndarray, columns) -> None:
    """More arrivals than the phase waits for."""
    faults = batch.machine.faults
    faults.add(
        explain_mbarrier.too_many_arrivals(
            **_where(batch, part, iid, b.offset), at=on_line(batch, iid), arrivals=int(amount.max()), pending=int(b.pending[columns].min()),
            tx=int(b.tx[columns].flat[0]), expected=int(b.expected[columns].max()), other_line=faults.line(b.init[0]),
        )
    )  # fmt: skip


def must_not_complete(batch: Batch, part: Group, iid: int, b: Barrier, amount: ndarray, columns) -> None:
    if (b.pending[columns] <= amount).any():
        batch.machine.faults.add(explain_mbarrier.completes_though_not_allowed(**_where(batch, part, iid, b.offset), at=on_line(batch, iid)))


def in_another_block(g: Group, iid: int, offset: int, column: int, receiver: int, lane: int = 0) -> None:
    """A copy or asynchronous store brings data to one block and counts its bytes at another's barrier."""
    faults, ids = g.batch.machine.faults, g.batch.ids
    blocks: dict[str, Any] = {"barrier_block": faults.block(int(ids[column])), "receiver": faults.block(int(ids[receiver]))}
    faults.add(explain_mbarrier.barrier_of_another_block(**_where(g.batch, g, iid, offset, lane), at=on_line(g.batch, iid), **blocks))


def sources_gone(batch: Batch) -> None:
    """Blocks of a cluster have ended: each must have known that the copies out of its shared memory were complete."""
    happened = batch.happened
    if happened is None or happened.size == 1 or batch.mbarriers is None:
        return
    for b in batch.mbarriers.at.values():
        for (rank, source), (phase, row, iid) in b.sent.items():
            which = np.unique(happened.which[source * batch.T : (source + 1) * batch.T])
            if not any(happened.vectors[int(k)][happened.slot(b.slot, rank)] > phase for k in which):
                faults = batch.machine.faults
                name, line = batch.machine.array_name(batch.machine.program.sites[iid]) or "shared memory", faults.line(iid)
                at: dict[str, Any] = {"thread": faults.thread(row), "block": faults.block(int(batch.ids[source])), "at": on_line(batch, iid)}
                faults.add(explain_async.source_left(array=name, line=line, **at, receiver=faults.block(int(batch.ids[rank]))))
                return


def arrivals_too_late(batch: Batch) -> None:
    """Blocks of a cluster have ended: all arrivals from other blocks must have been known there, or a block may have been gone when one came."""
    happened = batch.happened
    if happened is None or happened.size == 1 or batch.mbarriers is None:
        return
    for b in batch.mbarriers.at.values():
        for (rank, who), (time, iid) in b.remote.items():
            if not any(happened.vectors[int(k)][who] > time for k in np.unique(happened.which[rank * batch.T : (rank + 1) * batch.T])):
                faults = batch.machine.faults
                thread, block = faults.thread(who % batch.T), faults.block(int(batch.ids[who // batch.T]))
                facts: dict[str, Any] = {"mbarrier": name_at(batch, b.offset), "line": faults.line(iid), "at": on_line(batch, iid)}
                faults.add(explain_mbarrier.arrival_at_a_block_that_ended(**facts, thread=thread, block=block, other_block=faults.block(int(batch.ids[rank]))))
                return


# ------------------------------------------------------------------------------------------------ nobody can go on


def deadlock(batch: Batch) -> bool:
    """Nobody can go on, and somebody waits for an mbarrier; False if nobody does."""
    waiting = [g for g in batch.groups if g.waits == "mbarrier"]
    if not waiting:
        return False
    g = min(waiting, key=lambda g: _rank(batch, g))
    held, faults = g.held, batch.machine.faults
    b = batch.mbarriers.at.get(held.offset) if batch.mbarriers is not None else None
    facts: dict[str, Any] = dict.fromkeys(("pending", "expected", "tx", "announced", "unseen"), 0)
    if b is not None:
        facts = {name: int(getattr(b, name)[held.column]) for name in ("pending", "expected", "tx", "announced")}
        facts["unseen"] = _unseen(batch, g, b)
    faults.add(
        explain_mbarrier.mbarrier_deadlock(
            mbarrier=name_of(batch, held.iid, held.offset), line=faults.line(held.iid), thread=faults.thread(held.row),
            block=faults.block(int(batch.ids[held.column])), rows=sorted({int(r) for r in g.rows}), at=on_line(batch, held.iid), phase=held.phase, **facts,
            others=_others(batch, g), initialised=b is not None,
        )
    )  # fmt: skip
    return True


def _rank(batch: Batch, g: Group) -> int:
    """The waiting group that tells most comes first: its bytes are wrong, its phases are, some arrivals are missing, all are."""
    b = batch.mbarriers.at.get(g.held.offset) if batch.mbarriers is not None else None
    if b is None:
        return 0
    if b.tx[g.held.column]:
        return 1
    if _unseen(batch, g, b):
        return 2
    return 3 if b.pending[g.held.column] < b.expected[g.held.column] else 4


def _unseen(batch: Batch, g: Group, b: Barrier) -> int:
    """How many complete phases the waiting threads have not seen. One (or any odd number): their parity is wrong. Two: the others went ahead."""
    if batch.happened is None:
        return 0
    who = batch.happened.of(np.array([g.held.row]), np.array([g.held.column]))
    return g.held.phase - int(batch.happened.seen(who, b.slot)[0])


def _others(batch: Batch, g: Group) -> str:
    """Who waits elsewhere, as a sentence."""
    x = next((x for x in batch.groups if x is not g), None)
    if x is None:
        return ""
    who = f" Meanwhile {thread_ranges(sorted({int(r) for r in x.rows}))} {'waits' if x.n == 1 else 'wait'}"
    if x.waits == "mbarrier":
        return f"{who}{on_line(batch, x.held.iid)} for {name_of(batch, x.held.iid, x.held.offset)}."
    where = {"barrier": " at the barrier", "cluster": " at the cluster barrier"}.get(x.waits, "")
    return f"{who}{where}{at_line(batch.machine.faults.pc_line(x))}."
