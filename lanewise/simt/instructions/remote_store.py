"""st.async and red.async: stores to shared memory of the cluster that count their bytes at an mbarrier beside it (PTX ISA 9.7.9.12, 9.7.13.7).

Stored data shows when a thread first sees the phase of the mbarrier complete, as late as a GPU may do it. A reduction is done at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import access, shared_access
from ..checks import mbarrier as barrier_check
from ..checks.remote_writes import begin_stores
from ..clusters import local
from ..codegen import Emitter, vector, width_of
from ..mbarriers import barriers
from ..ptx import Address, Instruction
from ..values import full, ndarray, u32, u64
from .bulk_copy import line, picked
from .mbarrier import known
from .memory import address_text
from .reductions import reduced


@dataclass(eq=False, slots=True)
class Landing:
    """Words on their way: (n,) places, the blocks they are in, the data."""

    words: ndarray
    blocks: ndarray
    data: ndarray

    def columns(self, keep: ndarray) -> Landing:
        here = np.flatnonzero(np.isin(self.blocks, keep))
        return Landing(self.words[here], np.searchsorted(keep, self.blocks[here]), self.data[here])

    def land(self, batch) -> None:
        batch.shared.words[self.words, self.blocks] = self.data
        batch.machine.stores += 1


def _as_words(g, values: tuple, size: int) -> ndarray:
    """The lanes' values as 32-bit words, (lanes, words)."""
    dtype = u64 if size == 8 else u32
    parts = [np.broadcast_to(np.asarray(full(x), dtype=dtype), g.shape).ravel() for x in values]
    return np.ascontiguousarray(np.stack(parts, axis=1)).view(u32)


def store_async(g, iids: tuple[int, int], address, values: tuple, size: int, barrier, operation: str = "", type: str = "") -> None:
    """`size` bytes a value; with an operation, combined with what is there."""
    batch = g.batch
    write, at = iids
    data = _as_words(g, values, size)
    good, offsets, blocks = shared_access.each_shared(g, write, address, 4 * data.shape[1], "write")
    places, there = local(batch, access.lanes_of(g, barrier), np.broadcast_to(g.block_columns, g.shape).ravel())
    lanes = np.arange(len(places)) if good is None else good
    data, places, there = data[lanes], places[lanes], there[lanes]
    for offset in np.unique(places).tolist():
        mine = np.flatnonzero(places == offset)
        part = access.lanes_group(g, lanes[mine])
        own, part.cols = np.arange(batch.B)[part.cols], there[mine]
        b = known(g, part, at, offset, "names", own)
        apart = np.flatnonzero(blocks[mine] != there[mine])
        if batch.machine.check and len(apart):
            barrier_check.in_another_block(g, at, offset, int(there[mine][apart[0]]), int(blocks[mine][apart[0]]), int(lanes[mine][apart[0]]))
        words = (offsets[mine] >> 2)[:, None] + np.arange(data.shape[1])
        if batch.machine.check:
            begin_stores(g, write, b, part.rows, own, words, blocks[mine], bool(operation))
        if operation:
            _combine(batch, words, blocks[mine], data[mine], operation, type)
        else:
            landing = Landing(words.ravel(), np.repeat(blocks[mine], data.shape[1]), data[mine].ravel())
            if b is None:
                landing.land(batch)
            else:
                phase = np.full(batch.B, -1)
                phase[blocks[mine]] = b.phase[blocks[mine]]
                b.data.append((phase, landing))
        if b is not None:
            count = np.bincount(there[mine], minlength=batch.B) * 4 * data.shape[1]
            barriers(batch).bytes(b, -count)


def _combine(batch, words: ndarray, blocks: ndarray, data: ndarray, operation: str, type: str) -> None:
    """One lane after the other."""
    memory = batch.shared.words
    for place, block, new in zip(words, blocks.tolist(), data, strict=True):
        old = np.ascontiguousarray(memory[place, block])
        memory[place, block] = reduced(operation, type, old, np.ascontiguousarray(new))
    batch.machine.stores += 1


def emit_store_async(e: Emitter, i: Instruction) -> None:
    """st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar], and red.async with its operation."""
    to, values, barrier = i.operands
    assert isinstance(to, Address) and isinstance(barrier, Address)
    type = i.modifiers[-1]
    operation = next((m for m in i.modifiers if m in ("add", "min", "max", "inc", "dec", "and", "or", "xor")), "") if i.opcode == "red" else ""
    gp, ix = e.masked()
    sites = (e.site(f"{i.opcode}.async"), e.site("mbarrier.complete_tx", 1))
    bits = f"b{width_of(type)}"
    parts = ",".join(picked(gp, ix, e.use(x, bits)) for x in vector(values))
    extra = f",{operation!r},{type!r}" if operation else ""
    call = f"STASYNC({gp},{sites!r},{picked(gp, ix, address_text(e, to))},({parts},),{width_of(type) // 8},{picked(gp, ix, address_text(e, barrier))}{extra})"
    line(e, gp, ix, call)


EMIT = {"st": emit_store_async, "red": emit_store_async}
NAMES = {"STASYNC": store_async}
