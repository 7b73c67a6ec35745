"""Threads that go past a __syncthreads() at which others of their block wait, and come to it themselves in a later turn of a loop.

CUDA C allows a barrier under a condition "only if the conditional evaluates identically across the entire thread block". All threads come to the same line
in the end, so no line and no missing thread tells of it: the branch does, at which some went to the barrier and others round it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain
from ..values import ndarray

if TYPE_CHECKING:
    from ..batch import Batch
    from ..code import Code
    from ..group import Group


def parted(batch: Batch, g: Group, yes: ndarray, target: int, other: int) -> None:
    """A group parts at its branch: lanes `yes`, as a mask, go to block `target`, the rest to `other`."""
    code, pc = g.code, g.pc
    if pc not in code.guards:
        code.guards[pc] = _guarded(code, pc, target, other)
    for barrier, by_target in code.guards[pc]:
        to_it, past = (yes, ~yes) if by_target else (~yes, yes)
        if g.cols is None:
            batch.gone_past.setdefault((code.number, barrier), np.zeros((batch.T, batch.B), bool))[g.rows[past]] = True
            continue
        both = np.intersect1d(g.cols[to_it], g.cols[past])  # blocks whose own threads part
        past = past & np.isin(g.cols, both)
        if past.any():
            batch.gone_past.setdefault((code.number, barrier), np.zeros((batch.T, batch.B), bool))[g.rows[past], g.cols[past]] = True


def _guarded(code: Code, pc: int, target: int, other: int) -> list[tuple[int, bool]]:
    """Barriers of the whole block that only one side of a branch comes to before the sides meet again, and whether it is that of `target`."""
    by = [_barriers(code, side, {pc, code.blocks[pc].join}) for side in (target, other)]
    return [(b, True) for b in by[0] - by[1]] + [(b, False) for b in by[1] - by[0]]


def _barriers(code: Code, start: int, ends: set[int | None]) -> set[int]:
    found: set[int] = set()
    seen, queue = set(ends), [start]
    while queue:
        at = queue.pop()
        if at in seen:
            continue
        seen.add(at)
        block = code.blocks[at]
        if block.kind == "barrier" and "cluster" not in block.instructions[0].modifiers and len(block.instructions[0].operands) in (1, 3):
            found.add(at)
        queue += block.successors
    return found


def met(batch: Batch, waiting: list[Group]) -> None:
    """A barrier of the whole block is complete: among those who wait are some who went past it before."""
    for g in waiting:
        past = batch.gone_past.get((g.code.number, g.pc))
        if past is None:
            continue
        column = 0 if g.cols is None else int(g.cols[0])
        late = g.rows if g.cols is None else g.rows[g.cols == column]
        if not past[late, column].all():
            continue  # they have met those who hadn't gone past it before they came
        early = np.concatenate([x.rows if x.cols is None else x.rows[x.cols == column] for x in waiting if x is not g])
        early = np.sort(early[~past[early, column]])
        if len(early):
            faults, threads = batch.machine.faults, [early.tolist(), np.sort(late).tolist()]
            line, block, thread = faults.pc_line(g), faults.block(int(batch.ids[column])), faults.thread(int(early[0]))
            faults.add(explain.barrier_divergence(lines=[line, line], threads=threads, block=block, thread=thread))
            break
    batch.gone_past.clear()
