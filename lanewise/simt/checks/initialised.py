"""Reads of global elements that nobody set: outputs are poisoned and known by a mask of unset bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain
from ..values import u8, u16, u32, u64

if TYPE_CHECKING:
    from ..group import Group
    from ..machine import Machine
    from ..memory import Allocation, Where

BY_SIZE = {1: u8, 2: u16, 4: u32, 8: u64}
SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


class Initialised:
    def __init__(self, machine: Machine):
        self.machine = machine

    def _view(self, a: Allocation, size: int) -> np.ndarray:
        assert a.unset is not None
        return a.unset[: len(a.unset) // size * size].view(BY_SIZE[size])

    def read(self, g: Group, iid: int, a: Allocation, where: Where, size: int, vector: int, access: str = "read") -> None:
        view = self._view(a, size)
        for j in range(vector):
            unset = where.get(view, SHIFT[size], j)
            if not np.any(unset):
                continue
            faults = self.machine.faults
            full = np.broadcast_to(unset, _shape(g, where))
            lane = int(np.flatnonzero(full)[0])
            index = where.get(np.arange(len(view)), SHIFT[size], j)
            elements = np.unique(np.broadcast_to(index, full.shape)[full != 0])
            thread, block = faults.lane(g, lane)
            first = int(np.broadcast_to(index, full.shape).ravel()[lane]) * size // a.element
            faults.add(
                explain.uninitialised_read(
                    array=a.name, index=first, space="global", thread=thread, block=block, line=faults.line(iid), shape=a.shape, access=access,
                    count=int(np.count_nonzero(full)), elements=len(elements), first_index=int(elements[0]) * size // a.element,
                    last_index=int(elements[-1]) * size // a.element,
                )
            )  # fmt: skip
            return

    def write(self, a: Allocation, where: Where, size: int, vector: int) -> None:
        view = self._view(a, size)
        for j in range(vector):
            where.put(view, SHIFT[size], 0, j)


def _shape(g: Group, where: Where) -> tuple[int, int]:
    """The access's shape stretched over the group, so that a flat position is a lane number."""
    return g.shape
