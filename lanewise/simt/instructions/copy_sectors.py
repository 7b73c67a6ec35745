"""What the copy engine asks of L2 and gets from it, in sectors of 32 bytes, as Nsight Compute counts them on an H200.

A copy goes in requests. A request ends where a line of 128 bytes ends, of shared memory as well as of global memory, and at the end of a box's row. It
takes every sector of global memory that it touches: one that two requests share goes twice. What is filled up around an array goes in requests, too, of the
sectors of shared memory; 16 bytes of which some lie in the array are no part of them. In a multicast every block gets each request, and at least 2 sectors
for it, at least 3 for one that fills anything.
"""

from __future__ import annotations

import numpy as np

from ..memory import Allocation
from ..tensor_maps import TensorMap
from ..values import ndarray

LINE, SECTOR, UNIT = 128, 32, 16  # bytes; the engine's addresses and sizes are multiples of a unit
LEAST, LEAST_FILLED = 2, 3  # sectors of a multicast's request


def requests(addresses: ndarray, places: ndarray, size: int) -> tuple[ndarray, ndarray]:
    """Sectors of each request, and the numbers of those that end a run: of `size` bytes, at `addresses` of global memory and `places` in shared memory."""
    if not len(addresses) or size <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    units = np.arange(0, size, UNIT)
    there, here = addresses[:, None] + units, places[:, None] + units
    begins = (there % LINE == 0) | (here % LINE == 0)
    begins[:, 0] = True
    sectors = np.add.reduceat((begins | (there % SECTOR == 0)).ravel().astype(np.int64), np.flatnonzero(begins))
    return sectors, np.cumsum(begins.sum(axis=1)) - 1


def moved(a: Allocation, starts: ndarray, size: int, places: ndarray) -> int:
    """Sectors that go between runs at the offsets `starts` of an array and `places` in one block's shared memory."""
    return int(requests(a.base + starts, places, size)[0].sum())


def got(a: Allocation, starts: ndarray, size: int, places: ndarray, receivers: int, multicast: bool) -> int:
    """Sectors that arrive in `receivers` blocks."""
    each, last = requests(a.base + starts, places, size)
    if multicast:
        each = np.maximum(each, LEAST)
        if size % UNIT:  # the array ends there: the unit is filled up
            each[last] = np.maximum(each[last], LEAST_FILLED)
    return receivers * int(each.sum())


def places_of_rows(tm: TensorMap, part: tuple) -> ndarray:
    """Where the rows of a part of a box begin, in bytes from the box's place in shared memory. A swizzle moves bytes within a line: it changes no request."""
    rows = np.arange(tm.rows).reshape(tm.counts[:-1])[part[:-1]]
    return np.ravel(rows) * tm.pitch + part[-1].start * tm.itemsize


def filled(tm: TensorMap, part: tuple | None, receivers: int, multicast: bool) -> int:
    """Sectors for what lies around the part of a box that is inside of the array: rows outside, and rows' ends on either side. `part`: None if none is."""
    rows = np.arange(tm.rows) * tm.pitch
    if part is None:
        runs = [(rows, tm.inner_bytes)]
    else:
        begin, before, size = places_of_rows(tm, part), part[-1].start * tm.itemsize, (part[-1].stop - part[-1].start) * tm.itemsize
        first, behind = begin - before, -(-size // UNIT) * UNIT
        runs = [(np.setdiff1d(rows, first), tm.inner_bytes), (first, before), (begin + behind, tm.inner_bytes - before - behind)]
    each = np.concatenate([requests(at, at, size)[0] for at, size in runs])
    return receivers * int((np.maximum(each, LEAST_FILLED) if multicast else each).sum())
