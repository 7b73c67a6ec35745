"""What a batch knows of its warps' asynchronous products: groups committed, groups waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..values import i64

if TYPE_CHECKING:
    from ..batch import Batch


class State:
    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.committed = np.zeros((batch.T, batch.B), i64)

    def columns(self, batch: Batch, keep: np.ndarray) -> State:
        other = State.__new__(State)
        other.batch = batch
        other.committed = self.committed[:, keep]
        return other

    def issue(self, g, p, a_site: int, b_site: int, a: Any, b: Any) -> None:
        pass


def state(batch: Batch) -> State:
    if batch.wgmma is None:
        batch.wgmma = State(batch)
    return batch.wgmma


def fence(g) -> None:
    pass


def commit(g) -> None:
    pass


def wait(g, left) -> None:
    pass
