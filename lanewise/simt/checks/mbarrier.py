"""What can be wrong with an mbarrier: not initialised, not visible yet, too many arrivals, a phase that never completes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..finding import Finding
from ..values import ndarray
from ..words import THIRD_PERSON, at_line, element, plural, thread_ranges, tuple_text, who

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..mbarriers import Barrier

KIND = "mbarrier"


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


def _add(batch: Batch, part: Group, iid: int, offset: int, text: str, lane: int = 0, kind: str = KIND) -> None:
    faults = batch.machine.faults
    thread, block = faults.lane(part, lane)
    name, index, _, _, _ = faults.shared_at(iid, offset)
    faults.add(Finding(kind, "error", text, line=faults.line(iid), array=name, index=index, thread=thread, block=block))


def initialised(batch: Batch, g: Group, iid: int, offset: int, rows: ndarray, counts: ndarray, several: bool) -> None:
    """mbarrier.init by the threads `rows`."""
    faults = batch.machine.faults
    line = faults.line(iid)
    name = name_of(batch, iid, offset)
    lane = int(np.flatnonzero(g.rows == rows[0])[0]) * (batch.B if g.cols is None else 1)
    old = batch.mbarriers.at.get(offset) if batch.mbarriers is not None else None
    if counts.min() < 1:
        _add(batch, g, iid, offset, f"mbarrier: {name} is initialised with a count of {int(counts.min())}{at_line(line)}: a phase needs at least 1 arrival. "
             "Pass the number of arrivals that complete a phase.", lane)  # fmt: skip
    if several:
        threads = thread_ranges(sorted(set(rows.tolist())))
        _add(batch, g, iid, offset, f"mbarrier: {threads} all initialise {name}{at_line(line)}, each forgetting the arrivals before it. "
             "Let one thread do it, if (threadIdx.x == 0), then fence and __syncthreads().", lane)  # fmt: skip
    elif old is not None and old.live.any():
        _add(batch, g, iid, offset, f"mbarrier: {name} is initialised again{at_line(line)}, though it is in use since line {faults.line(old.init[0])}. "
             "Initialise each barrier once; mbarrier.inval ends its use.", lane)  # fmt: skip


def used(batch: Batch, part: Group, iid: int, offset: int, b: Barrier | None, does: str) -> None:
    """Some threads use a barrier: it must have been initialised, and they must know it."""
    faults = batch.machine.faults
    line = faults.line(iid)
    if b is None or not b.live[slice(None) if part.cols is None else part.cols].all():
        low, high = batch.machine.shared_extent(iid, offset)
        thread, block = faults.lane(part, 0)
        if not low <= offset <= high - 8:
            faults.shared_out_of_bounds(part, iid, np.array([0]), np.array([offset]), "atomic", 8)
            return
        text = f"mbarrier: {who(thread, block)} {does} {name_of(batch, iid, offset)}{at_line(line)}, but "
        if b is None:
            near = _nearest(batch, offset)
            text += "nobody has initialised it."
            if near is not None:
                text += f" The nearest barrier lies {plural(abs(near - offset), 'byte')} {'behind' if near > offset else 'before'} it."
            text += " Call mbarrier.init first (one thread), fence.mbarrier_init, then __syncthreads()."
        else:
            text += "it was invalidated. Use it before mbarrier.inval, or initialise it anew."
        _add(batch, part, iid, offset, text)
        return
    site, row, time = b.init
    if time < batch.last_sync or batch.happened is None:
        return
    rows = np.unique(part.rows)
    ok = batch.happened.knows(rows, np.full(len(rows), row), np.full(len(rows), time))
    if not ok.all():
        lane = int(np.flatnonzero(part.rows == rows[~ok][0])[0]) * (batch.B if part.cols is None else 1)
        thread, block = faults.lane(part, lane)
        text = f"mbarrier: {who(thread, block)} {does} {name_of(batch, iid, offset)}{at_line(line)}, but nothing orders that after thread "
        text += f"{tuple_text(faults.thread(row))} initialised it{at_line(faults.line(site))}. Put __syncthreads() behind the initialisation."
        _add(batch, part, iid, offset, text, lane)


def visible(batch: Batch, part: Group, iid: int, b: Barrier) -> None:
    """A copy names a barrier: a fence must have told the asynchronous proxy of its initialisation."""
    if b.visible or batch.happened is None:
        return
    b.visible = True  # said once
    faults = batch.machine.faults
    name = name_of(batch, iid, b.offset)
    text = f"mbarrier: the copy{on_line(batch, iid)} names {name}, but no fence stands between its mbarrier.init"
    text += f"{at_line(faults.line(b.init[0]))} and the copy. Put fence.mbarrier_init.release.cluster behind the initialisation, "
    text += "in the thread that does it, and __syncthreads() after that."
    _add(batch, part, iid, b.offset, text)


def _nearest(batch: Batch, offset: int) -> int | None:
    at = list(batch.mbarriers.at) if batch.mbarriers is not None else []
    near = min(at, key=lambda x: abs(x - offset), default=None)
    return near if near is not None and abs(near - offset) < 256 else None


def touched(batch: Batch, g: Group, iid: int, offset: int, how: str) -> None:
    """A plain access to the 8 bytes of a barrier in use."""
    b = next((b for b in batch.mbarriers.at.values() if b.offset <= offset < b.offset + 8 and b.live.any()), None)
    if b is None:
        return
    faults = batch.machine.faults
    thread, block = faults.lane(g, 0)
    text = f"mbarrier: {who(thread, block)} {THIRD_PERSON[how]} the memory of {name_at(batch, b.offset)}{on_line(batch, iid)}, which is an mbarrier in use "
    text += f"since line {faults.line(b.init[0])}. Only mbarrier instructions may touch it: keep the arrays apart, or end its use with mbarrier.inval."
    _add(batch, g, iid, b.offset, text)


def too_many(batch: Batch, part: Group, iid: int, b: Barrier, amount: ndarray, columns) -> None:
    """More arrivals than the phase waits for."""
    faults = batch.machine.faults
    thread, block = faults.lane(part, 0)
    pending, tx = int(b.pending[columns].min()), int(b.tx[columns].flat[0])
    text = f"mbarrier: {who(thread, block)} arrives at {name_of(batch, iid, b.offset)}{on_line(batch, iid)}"
    text += f", one of {plural(int(amount.max()), 'arrival')} there, but its phase waits for {plural(pending, 'more arrival')}"
    if pending == 0 and tx:
        text += f" (only {plural(abs(tx), 'byte')} {'are missing' if tx > 0 else 'too many have arrived'})"
    expected = int(b.expected[columns].max())
    text += f". It was initialised{at_line(faults.line(b.init[0]))} for {plural(expected, 'arrival')} a phase: make the count equal to the arrivals, "
    text += "or let a thread wait for the phase before it arrives for the next."
    _add(batch, part, iid, b.offset, text)


def must_not_complete(batch: Batch, part: Group, iid: int, b: Barrier, amount: ndarray, columns) -> None:
    if (b.pending[columns] > amount).all():
        return
    text = f"mbarrier: the arrival at {name_of(batch, iid, b.offset)}{at_line(batch.machine.faults.line(iid))} has .noComplete, but it completes the phase. "
    text += "Leave .noComplete out, or let another arrival be the last."
    _add(batch, part, iid, b.offset, text)


def deadlock(batch: Batch) -> bool:
    """Nobody can go on, and somebody waits for an mbarrier; False if nobody does."""
    waiting = [g for g in batch.groups if g.waits == "mbarrier"]
    if not waiting:
        return False
    # a barrier that bytes are missing at tells more than those that wait for its waiters
    waiting.sort(key=lambda g: _rank(batch, g))
    g = waiting[0]
    held = g.held
    faults = batch.machine.faults
    column = held.column
    b = batch.mbarriers.at.get(held.offset) if batch.mbarriers is not None else None
    line = faults.line(held.iid)
    block, thread = faults.block(int(batch.ids[column])), faults.thread(held.row)
    threads = sorted({int(r) for r in g.rows})
    name = name_of(batch, held.iid, held.offset)
    text = f"deadlock in block {tuple_text(block)}: {thread_ranges(threads)} {'waits' if len(threads) == 1 else 'wait'}{on_line(batch, held.iid)} for phase "
    text += f"{held.phase} of the mbarrier {name}, and nobody is left to go on. "
    if b is None:
        text += "It was never initialised."
    elif not b.tx[column] and _skipped(batch, g, b) > 1 and _skipped(batch, g, b) % 2 == 0:
        text += f"They have not seen {_skipped(batch, g, b)} phases that are complete: the others went ahead. Let those wait, by a second mbarrier at which the "
        text += "readers arrive, before they begin the next phase." + _others(batch, g)
    elif not b.tx[column] and _skipped(batch, g, b):
        text += f"Phase {held.phase - 1} is complete, and these threads have not waited for it: the parity is wrong. Wait for parity 0 first, then 1, 0, 1 …"
        text += _others(batch, g)
    else:
        text += _missing(b, column) + _others(batch, g)
    array, index, _, _, _ = faults.shared_at(held.iid, held.offset)
    faults.add(Finding("deadlock", "error", text, line=line, array=array, index=index, thread=thread, block=block))
    return True


def _rank(batch: Batch, g: Group) -> int:
    b = batch.mbarriers.at.get(g.held.offset) if batch.mbarriers is not None else None
    if b is None:
        return 0
    if b.tx[g.held.column]:
        return 1
    return 2 if _skipped(batch, g, b) else 3


def _skipped(batch: Batch, g: Group, b: Barrier) -> int:
    """How many complete phases the waiting threads have not seen. One (or any odd number): their parity is wrong. Two: the others went ahead."""
    if batch.happened is None:
        return 0
    return g.held.phase - int(batch.happened.seen(np.array([g.held.row]), b.slot)[0])


def _missing(b: Barrier, column: int) -> str:
    pending, expected = int(b.pending[column]), int(b.expected[column])
    tx, announced = int(b.tx[column]), int(b.announced[column])
    if tx > 0:
        text = f"expect_tx announced {plural(announced, 'byte')}, {announced - tx} arrived"
        text += f", and {plural(pending, 'arrival')} of {expected} {'is' if pending == 1 else 'are'} missing too" if pending else ""
        return text + ". Announce exactly the bytes that the copies bring: for a tensor copy the whole box, its part outside of the array included."
    if tx < 0:
        text = f"expect_tx announced {plural(announced, 'byte')}, but {announced - tx} arrived"
        return text + ". Announce the bytes of all copies that name this barrier."
    if pending == expected:
        return f"No arrival of {expected} has come in this phase. Let the threads that use the data, or bring it, arrive at it once a phase."
    came = expected - pending
    return f"{plural(came, 'arrival')} of {expected} {'has' if came == 1 else 'have'} come. Make the count of mbarrier.init equal to the arrivals."


def _others(batch: Batch, g: Group) -> str:
    faults = batch.machine.faults
    others = [x for x in batch.groups if x is not g]
    if not others:
        return ""
    x = others[0]
    threads = thread_ranges(sorted({int(r) for r in x.rows}))
    verb = "waits" if x.n == 1 else "wait"
    if x.waits == "mbarrier":
        return f" Meanwhile {threads} {verb}{on_line(batch, x.held.iid)} for {name_of(batch, x.held.iid, x.held.offset)}."
    return f" Meanwhile {threads} {verb} at the barrier{at_line(faults.pc_line(x))}."
