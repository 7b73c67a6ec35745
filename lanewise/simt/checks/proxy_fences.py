"""Proxy fences: whether one stands between what threads wrote and what the asynchronous proxy reads (PTX ISA 8.9.1.1, "proxies")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import explain_async
from ..values import ndarray
from .mbarrier import on_line
from .races import SITE_MASK, SITE_SHIFT, TIME_MASK, TIME_SHIFT, WHO, unpack

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..memory import Allocation
    from .async_copy import Watched

KEPT = 8  # fences of a thread that are remembered: it may run ahead of who reads


@dataclass(frozen=True, slots=True)
class Fence:
    """A fence.proxy.async of one thread: when, the last block barrier before it, and what the thread knew."""

    time: int
    last_sync: int
    known: ndarray
    space: str  # "shared", "global" or "" for both


def missing(check: Watched, tags: ndarray, people: ndarray) -> tuple[int, int, int, bool] | None:
    """(word, thread that wrote it, its instruction, whether the write is ordered before the read) of the first write that no fence tells of.

    `tags`: for each word the last write of a thread, 0 for none. `people`: who reads; both threads by their number in the cluster.
    """
    batch = check.batch
    assert batch.happened is not None
    written = np.flatnonzero(tags)
    if not len(written):
        return None
    first = np.unique(tags[written], return_index=True)[1]  # one word for each writer, time and line
    readers = _one_a_warp(check, people)
    alike = len(np.unique(batch.happened.which[readers])) == 1  # they know the same
    first_of_block = readers[0] // batch.T * batch.T
    for k in written[first].tolist():
        tag = int(tags[k])
        writer, time, site = first_of_block + (tag & WHO) - 1, tag >> TIME_SHIFT & TIME_MASK, tag >> SITE_SHIFT & SITE_MASK
        for reader in readers:
            known = writer == reader or time < batch.last_sync or bool(batch.happened.times(reader)[writer] > time)
            if known and any(f.time > time and f.space != "global" and _told(batch, reader, writer, f) for f in check.fences.get(writer, ())):
                if alike:
                    break
                continue
            if not known or not _fenced_on_the_way(check, reader, writer, time):
                return k, writer, site, known
    return None


def _one_a_warp(check: Watched, people: ndarray) -> list[int]:
    """Of each warp among the readers the lane with the newest fence: an instruction of a warp needs one."""
    if len(people) == 1:
        return [int(people[0])]
    newest: dict[int, tuple[int, int]] = {}
    for who in people.tolist():
        warp = who // check.batch.T << 8 | who % check.batch.T >> 5
        newest[warp] = max(newest.get(warp, (-2, 0)), (check.fences[who][-1].time if who in check.fences else -1, who))
    return [who for _, who in newest.values()]


def _told(batch: Batch, reader: int, who: int, fence: Fence) -> bool:
    """Whether the reader comes after another thread's fence."""
    assert batch.happened is not None
    return who == reader or fence.time < batch.last_sync or bool(batch.happened.times(reader)[who] > fence.time)


def _fenced_on_the_way(check: Watched, reader: int, writer: int, time: int) -> bool:
    """Whether a fence of any thread that knew of the write stands before the read."""
    fences = ((w, f) for w, some in check.fences.items() for f in some if f.space != "global")
    knew = ((w, f) for w, f in fences if f.time > time and (w == writer or time < f.last_sync or bool(f.known[writer] > time)))
    return any(_told(check.batch, reader, w, f) for w, f in knew)


def unfenced_global(g: Group, iid: int, a: Allocation, offsets: ndarray) -> None:
    """A copy of the one lane of g reads these bytes of a global array. What threads wrote there in this launch must have been fenced.

    Blocks of other batches have their own time: their writes are asked of only where the kernel has no such fence at all.
    """
    batch, region = g.batch, a.region
    machine = batch.machine
    if region is None or region.writer is None:
        return
    words = np.unique(a.region_offset + offsets >> machine.races.shift)
    tags = region.writer[words]
    written = np.flatnonzero(tags)
    if not len(written):
        return
    sites, fenced = machine.program.sites, machine.program.fences_global
    newest = max((f.time for some in getattr(batch.shared_check, "fences", {}).values() for f in some if f.space != "shared"), default=-1)
    for k in written[np.unique(tags[written], return_index=True)[1]].tolist():
        before = unpack(int(tags[k]))
        here = bool((batch.ids == before.thread // batch.T).any())
        if not machine.races.comes_after(g, before):
            continue  # a race, then
        if before.site >= len(sites) or sites[before.site].instruction.opcode == "cp" or (fenced and (not here or newest > before.time)):
            continue
        thread, block = machine.faults.lane(g, 0)
        machine.faults.add(
            explain_async.missing_global_fence(
                array=a.name, index=((int(words[k]) << machine.races.shift) - a.region_offset) // a.element, line=machine.faults.line(iid), thread=thread,
                block=block, at=on_line(batch, iid), other_thread=machine.faults.thread(before.thread % batch.T),
                other_block=machine.faults.block(before.thread // batch.T), other_line=sites[before.site].line,
            )
        )  # fmt: skip
        return
