"""Words of shared memory that an asynchronous copy is under way to: nobody may read or write them before the copy's thread has waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import access, explain, shared_access
from ..values import full, ndarray

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..instructions.async_copy import Copy
    from .shared import SharedCheck


class Watched:
    """A shared-memory check that looks first whether a copy is under way to what is accessed. Everything else goes to the check it stands before."""

    def __init__(self, check: SharedCheck, batch: Batch):
        self.check, self.batch = check, batch
        self.flight = np.zeros(len(check.used), np.int32)  # serial of the copy under way to each word; (words, B) once blocks differ

    def __getattr__(self, name: str):
        return getattr(self.check, name)

    def columns(self, batch: Batch, keep: ndarray) -> Watched:
        other = Watched(self.check.columns(batch, keep), batch)
        other.flight = self.flight.copy() if self.flight.ndim == 1 else np.ascontiguousarray(self.flight[:, keep])
        return other

    # ------------------------------------------------------------------ copies

    def start(self, copy: Copy) -> None:
        """A copy is issued. It may write from now on: what others did to these words since the last barrier is not ordered before it."""
        batch = self.batch
        g = copy.group(batch)
        p = shared_access.shared_pattern(batch.machine, g, copy.address, copy.size)
        if p is not None:
            self.write(g, copy.iid, p, copy.size, copy.words, 4)
        else:
            offsets, columns = self._lanes(g, copy)
            flat = [np.broadcast_to(full(x), g.shape).ravel() for x in copy.words]
            self.write_each(g, copy.iid, offsets, columns, copy.size, flat, 4)
        self._mark(copy, copy.serial)

    def end(self, copy: Copy) -> None:
        self._mark(copy, 0)

    def _lanes(self, g: Group, copy: Copy) -> tuple[ndarray, ndarray]:
        return access.lanes_of(g, copy.address), np.broadcast_to(g.block_columns, g.shape).ravel()

    def _mark(self, copy: Copy, serial: int) -> None:
        batch = self.batch
        g = copy.group(batch)
        p = shared_access.shared_pattern(batch.machine, g, copy.address, copy.size)
        if p is not None:
            self.flight[self.check.range_of(p, copy.size)] = serial
            return
        if self.flight.ndim == 1:
            self.flight = np.repeat(self.flight[:, None], batch.B, axis=1)
        offsets, columns = self._lanes(g, copy)
        words = max(copy.size // self.check.grain, 1)
        self.flight[self.check._range(offsets, copy.size), np.repeat(columns, words)] = serial

    # ------------------------------------------------------------------ accesses

    def read(self, g: Group, iid: int, p, total: int) -> None:
        self._look(g, iid, p, total, "read")
        self.check.read(g, iid, p, total)

    def write(self, g: Group, iid: int, p, total: int, values: tuple, size: int) -> None:
        self._look(g, iid, p, total, "write")
        self.check.write(g, iid, p, total, values, size)

    def atomic(self, g: Group, iid: int, p, total: int, reads: bool = True) -> None:
        self._look(g, iid, p, total, "atomic")
        self.check.atomic(g, iid, p, total, reads)

    def read_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str = "read") -> None:
        self._look_each(g, iid, offsets, columns, total, how)
        self.check.read_each(g, iid, offsets, columns, total, how)

    def write_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, values: list, size: int) -> None:
        self._look_each(g, iid, offsets, columns, total, "write")
        self.check.write_each(g, iid, offsets, columns, total, values, size)

    def atomic_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, reads: bool) -> None:
        self._look_each(g, iid, offsets, columns, total, "atomic")
        self.check.atomic_each(g, iid, offsets, columns, total, reads)

    def _look(self, g: Group, iid: int, p, total: int, how: str) -> None:
        here = self.flight[self.check.range_of(p, total)]
        if not np.any(here):
            return
        B = self.batch.B
        words = max(total // self.check.grain, 1)
        table = np.asarray(here).reshape(-1, words, self.flight.size // len(self.flight)).max(axis=1)  # (lanes, blocks)
        table = np.broadcast_to(table, (g.n, B)).ravel()
        offsets = np.repeat(np.broadcast_to(np.asarray(p.offsets), (g.n,)), B)
        self._report(g, iid, table, offsets, how)

    def _look_each(self, g: Group, iid: int, offsets: ndarray, columns: ndarray, total: int, how: str) -> None:
        words = max(total // self.check.grain, 1)
        index = self.check._range(offsets, total)
        here = self.flight[index] if self.flight.ndim == 1 else self.flight[index, np.repeat(columns, words)]
        if here.any():
            self._report(g, iid, here.reshape(-1, words).max(axis=1), offsets, how)

    def _report(self, g: Group, iid: int, serials: ndarray, offsets: ndarray, how: str) -> None:
        """`serials`: for each lane of the flattened group the copy in its way, 0 for none."""
        faults = self.check.machine.faults
        lanes = np.flatnonzero(serials)
        first = int(lanes[0])
        copy = next(c for c in self.batch.copies.pending if c.serial == serials[first])
        name, index, _, _, dims = faults.shared_at(iid, int(offsets[first]))
        thread, block = faults.lane(g, first)
        faults.add(
            explain.async_copy(
                array=name, index=index, thread=thread, block=block, line=faults.line(iid), copy_line=faults.line(copy.iid), access=how, dims=dims,
                waited=copy.waited, count=len(lanes),
            )
        )  # fmt: skip
