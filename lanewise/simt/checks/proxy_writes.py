"""Writes of shared memory by the asynchronous proxy: what bulk and tensor copies bring. See proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain_async
from ..values import ndarray
from . import mbarrier
from .async_copy import BARRIER, Bulk
from .proxy import issuer, overwritten, place, watched

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from .async_copy import Watched


def begin_write(g: Group, row: int, iid: int, words: ndarray, b, columns: ndarray | None, swizzle: int = -1, element: str = "") -> None:
    """Thread `row` issues a copy into these words of the blocks `columns` (None: all), which their mbarriers `b` tell the end of."""
    if not len(words):
        return
    batch = g.batch
    check = watched(batch)
    index = check.words_of(words)
    at = check.at(index, columns)
    check.check.partial_sync()
    here = check.flight[at]
    source = int(batch.happened.of(g.rows[:1], g.cols[:1] if g.cols is not None else np.zeros(1, int))[0]) if batch.happened is not None else row
    rank = 0 if columns is None else int(columns[0]) % batch.machine.cluster
    if here.any():
        flat = here if here.ndim == 1 else np.where((here > 0).any(axis=1), here.max(axis=1), here.min(axis=1))
        lanes = np.flatnonzero(check.not_known(flat, source, rank))
        if len(lanes) and flat[lanes[0]] < 0:
            _copied_over(check, row, iid, check.bulk[-int(flat[lanes[0]])], int(index[lanes[0]]))
        elif len(lanes) and flat[lanes[0]] == BARRIER:
            mbarrier.touched(batch, g, iid, int(index[lanes[0]]) * check.check.grain, "copy")
    if check.reading is not None and check.reading[index].any():
        overwritten(check, g, iid, index, "write", columns, row)
    check.check.records.overwrite(index, row, iid, columns, source)
    phases = b.phase if columns is None else b.phase[columns]
    check.bulk.append(Bulk(iid, row, b.slot, int(phases.min()), b.offset, swizzle, element))
    check.flight[at] = 1 - len(check.bulk)
    if columns is not None:
        check.check._spread_known()
    check.check.known[at] = True
    check.check.used[index] = False
    check.check.stored_at[index] = iid
    if check.generic is not None:
        check.generic[at] = 0


def swizzle_of(batch: Batch, words: ndarray) -> ndarray:
    """For each word the swizzle span of the tensor copy that wrote it (0: none), −1 where none did."""
    check = batch.shared_check
    if not hasattr(check, "bulk"):
        return np.full(len(words), -1, np.int16)
    serial = check.flight[words * (4 // check.check.grain)]
    serial = serial if serial.ndim == 1 else serial[:, 0]
    table = np.array([b.swizzle for b in check.bulk], np.int16)
    return np.where(serial < 0, table[np.minimum(-serial, len(table) - 1)], np.int16(-1))


def element_of(batch: Batch, word: int) -> str:
    """The PTX type of the elements that a tensor copy wrote to a word; nothing where none did."""
    check = batch.shared_check
    if not hasattr(check, "bulk"):
        return ""
    serial = int(np.min(check.flight[word * (4 // check.check.grain)]))
    return check.bulk[-serial].element if serial < 0 else ""


def _copied_over(check: Watched, row: int, iid: int, bulk: Bulk, word: int) -> None:
    """Thread `row` issues a copy into words that an earlier copy may still be writing."""
    thread, block = issuer(check, row)
    check.check.machine.faults.add(
        explain_async.copied_over(
            **place(check, iid, word * check.check.grain), thread=thread, block=block, at=mbarrier.on_line(check.batch, iid),
            copy_at=mbarrier.on_line(check.batch, bulk.iid), mbarrier=mbarrier.name_at(check.batch, bulk.offset), phase=bulk.phase,
        )
    )  # fmt: skip
