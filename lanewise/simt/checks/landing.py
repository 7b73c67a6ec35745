"""Bulk stores that are still writing global memory: what they bring may be neither read nor overwritten until their thread has waited.

cp.async.bulk.wait_group.read is no such wait: it ends when shared memory has been read (PTX ISA 9.7.9.25.4.5). Whether the access is ordered behind the
store at all is for `races` to say. Atomics are left alone: a bulk reduction is one, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import explain_async
from ..values import i64, ndarray
from . import mbarrier

if TYPE_CHECKING:
    from ..group import Group
    from ..memory import Allocation, Region, Where
    from .races import GlobalRaces


@dataclass(frozen=True, slots=True)
class Landing:
    """A bulk store of thread `row` of block number `block`, after `group` commits of that thread; `number` stands in the region's `landing`."""

    row: int
    block: int
    group: int
    region: Region
    words: ndarray
    number: int


def begin(g: Group, iid: int, a: Allocation, offsets: ndarray) -> None:
    """The one lane of g issues a store to these bytes of an allocation."""
    batch, region, races = g.batch, a.region, g.batch.machine.races
    if region is None or batch.bulk is None:
        return
    if region.landing is None:
        region.landing = np.zeros(region.size // races.grain + 4, i64)
    region.stores.append([iid, 0])
    words = np.unique(a.region_offset + offsets >> races.shift)
    region.landing[words] = len(region.stores)
    row, block = int(g.rows[0]), int(batch.ids[0 if g.cols is None else int(g.cols[0])])
    batch.bulk.landing.append(Landing(row, block, int(batch.bulk.committed[row]), region, words, len(region.stores)))


def end(store: Landing, read: bool) -> bool:
    """Its thread has waited for it, `read`: until shared memory was read alone. Whether it is over."""
    if read:
        store.region.stores[store.number - 1][1] = 1
        return False
    landing = store.region.landing
    assert landing is not None
    landing[store.words[landing[store.words] == store.number]] = 0
    return True


def touched(races: GlobalRaces, g: Group, iid: int, a: Allocation, where: Where, words: int, access: str) -> None:
    """Lanes read or write what a store may still bring."""
    region = a.region
    assert region is not None and region.landing is not None
    for j in range(words):
        numbers = np.broadcast_to(where.get(region.landing[a.region_offset >> races.shift :], races.shift, j), g.shape)
        if numbers.any():
            lane = int(np.flatnonzero(numbers.ravel())[0])
            place = np.broadcast_to(where.index(races.shift), g.shape).ravel()[lane] + j
            _report(g, iid, a, int(place) * races.grain, int(numbers.ravel()[lane]), lane, access, int(np.count_nonzero(numbers)))
            return


def copied(races: GlobalRaces, g: Group, iid: int, a: Allocation, words: ndarray) -> None:
    """A copy of the one lane of g reads these words of the region."""
    region = a.region
    assert region is not None and region.landing is not None
    late = np.flatnonzero(region.landing[words])
    if len(late):
        place = (int(words[late[0]]) << races.shift) - a.region_offset
        _report(g, iid, a, place, int(region.landing[words[late[0]]]), 0, "read", 1)


def _report(g: Group, iid: int, a: Allocation, place: int, number: int, lane: int, access: str, count: int) -> None:
    batch, faults = g.batch, g.batch.machine.faults
    assert a.region is not None
    store, read = a.region.stores[number - 1]
    thread, block = faults.lane(g, lane)
    faults.add(
        explain_async.store_not_finished(
            array=a.name, index=place // a.element, line=faults.line(iid), thread=thread, block=block, access=access,
            at=mbarrier.on_line(batch, store), read=bool(read), count=count,
        )
    )  # fmt: skip
