"""Happens-before through atomics and fences: locks, flags, "last block done".

A thread releases by a fence followed by an atomic (or volatile) write, and acquires by an atomic (or volatile) read. What a thread knows:
for each other block, all its accesses before some barrier time, and for single threads all accesses before some time of theirs.
Kept only for threads that take part, which are few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..values import Split, ndarray

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..machine import Machine


class Order:
    active = False

    def __init__(self, machine: Machine):
        self.machine = machine

    def fence(self, g: Group) -> None: ...

    def release(self, g: Group, address) -> None: ...

    def acquire(self, g: Group, address) -> None: ...

    def barrier(self, batch: Batch) -> None: ...

    def left(self, g: Group) -> None: ...

    def before(self, old, new, batch: Batch) -> bool:
        return False


__all__ = ["Order", "Split", "ndarray", "np"]
