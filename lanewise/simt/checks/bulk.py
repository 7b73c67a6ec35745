"""Bounds, alignment, unset elements and races of bulk copies: whole runs of bytes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain, explain_async
from ..memory import Allocation, Where
from ..values import ndarray
from . import landing, proxy_fences
from .faults import shared_pointer_step

if TYPE_CHECKING:
    from ..group import Group


def shared_place(g: Group, iid: int, offset: int, size: int, unit: int, access: str) -> bool:
    """Whether a run of shared memory is in bounds and aligned; a finding if not."""
    m = g.batch.machine
    if offset % unit or size % 16:
        bulk_misaligned(g, iid, m.faults.shared_at(iid, offset)[0], offset if offset % unit else 0, size, access, unit)
        excuse(g, iid, offset, size)
        return False
    low, high = m.shared_extent(iid, offset)
    if not low <= offset <= offset + size <= high:
        if m.knows_shared(iid) or not m.inside_shared(np.array([offset]), size).all():
            _outside(g, iid, offset, size, access)
            return False
    return True


def _outside(g: Group, iid: int, offset: int, size: int, access: str) -> None:
    """A copy that doesn't fit its shared array. What of it would lie there counts as set: the next reads aren't to blame."""
    m = g.batch.machine
    thread, block = m.faults.lane(g, 0)
    name, index, elements, element, dims = m.faults.shared_at(iid, offset)
    step = shared_pointer_step(offset) or f"The copy moves {size} bytes from there: make {name} as large as that, or the copy smaller."
    m.faults.add(
        explain.out_of_bounds(
            array=name, index=index, size=elements, access=access, thread=thread, block=block, line=m.faults.line(iid), space="shared", dims=dims,
            elements=max(size // element, 1), next_step=step,
        )
    )  # fmt: skip
    excuse(g, iid, offset, size)


def excuse(g: Group, iid: int, offset: int, size: int) -> None:
    """Count the words of a copy that was refused as set."""
    m = g.batch.machine
    if m.check:
        low, high = m.shared_extent(iid, offset)
        grain = m.program.grains["shared"]
        g.batch.shared_check.known[max(offset, low) // grain : min(offset + size, high) // grain] = True


def global_outside(g: Group, iid: int, a: Allocation, address: int, size: int, access: str) -> None:
    """A run that reaches beyond its array."""
    m = g.batch.machine
    thread, block = m.faults.lane(g, 0)
    step = "Copy only the bytes that are there, or use a tensor map: what lies outside of its array is filled up, or left out."
    m.faults.add(
        explain.out_of_bounds(
            array=a.name, index=(address - a.base) // a.element, size=len(a.data) // a.element, access=access, thread=thread, block=block,
            line=m.faults.line(iid), shape=a.shape, elements=max(size // a.element, 1), next_step=step,
        )
    )  # fmt: skip


def bulk_misaligned(g: Group, iid: int, array: str, offset: int, size: int, access: str, unit: int = 16) -> None:
    """A bulk copy whose address or size is no multiple of what it must be. `offset`: in the array for global memory, the address for shared memory."""
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    line = faults.line(iid)
    faults.add(explain_async.bulk_misaligned(array=array, line=line, thread=thread, block=block, access=access, size=size, offset=offset, unit=unit))


def _runs(starts: ndarray, size: int) -> ndarray:
    return (starts[:, None] + np.arange(size)).ravel()


def count(g: Group, a: Allocation, starts: ndarray, size: int, *touched: str) -> None:
    """Sectors that the runs touch, for the counters: a reduction reads in L2 what it writes."""
    if not len(starts) or not size:
        return
    first = a.base >> 5
    begin, end = (a.base + starts >> 5) - first, (a.base + starts + size - 1 >> 5) - first
    g.batch.machine.tma_sectors += int((end - begin + 1).sum())
    widest = int((end - begin).max()) + 1
    index = np.minimum(begin[:, None] + np.arange(widest), end[:, None])
    for kind in touched:
        mark = getattr(a, kind)
        if mark is None:
            mark = np.zeros((len(a.data) + 63) // 32 + 1, bool)
            setattr(a, kind, mark)
        mark[index.ravel()] = True


def read_global(g: Group, iid: int, a: Allocation, starts: ndarray, size: int) -> None:
    """One thread's copy reads runs of `size` bytes at the offsets `starts`."""
    count(g, a, starts, size, "read_sectors")
    m = g.batch.machine
    if not m.check or a.space != "global" or not len(starts):
        return
    if a.unset is not None:
        index = _runs(starts, size)
        bad = np.flatnonzero(a.unset[index])
        if len(bad):
            at = int(index[bad[0]]) // a.element * a.element
            where = Where("array", 0, np.array([[at]]), None, None, (1, 1), False)
            m.init.read(g, iid, a, where, min(a.element, 8), 1)
    if a.writable:
        index = _runs(starts, size) if len(starts) > 1 else np.arange(starts[0], starts[0] + size)
        proxy_fences.unfenced_global(g, iid, a, index)
        m.races.bulk(g, iid, a, index, False, False)


def write_global(g: Group, iid: int, a: Allocation, starts: ndarray, size: int, atomic: bool) -> None:
    count(g, a, starts, size, *(("read_sectors", "write_sectors") if atomic else ("write_sectors",)))
    m = g.batch.machine
    if not m.check or not len(starts):
        return
    index = _runs(starts, size)
    m.races.bulk(g, iid, a, index, True, atomic)
    landing.begin(g, iid, a, index)
    if a.unset is not None:
        a.unset[index] = 0
