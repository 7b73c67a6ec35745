"""Values shuffled from lanes that aren't there: followed through the registers until one is used (stored, branched on, or part of an address).

A group that holds such a value runs another version of its blocks, with a line after each instruction that passes the mark on. NaN poison would not
do: fmin and fmax swallow it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain
from ..blocks import reads, writes
from ..ptx import Address, Instruction, Reg
from ..values import ndarray

if TYPE_CHECKING:
    from ..codegen import Emitter
    from ..group import Group

_USES = {"st", "red", "bra", "brx", "ret", "exit", "stmatrix", "cp"}


def before(e: Emitter, i: Instruction) -> None:
    """The line in front of an instruction: is a marked value used?"""
    names: list[str] = []
    if i.opcode in _USES:
        names = reads(i)
    else:
        for operand in i.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Reg):
                names.append(operand.base.name)
        if i.opcode in ("atom",):
            names = reads(i)
    slots = tuple(e.slot(n) for n in names if n in e.code.graph.slots)
    if slots:
        p = e.use(i.predicate, "pred") if i.predicate is not None and i.opcode not in ("bra", "ret", "exit") else "True"
        e.line(f"TUSE(g,{slots},{p},{i.line})")


def after(e: Emitter, i: Instruction) -> None:
    """The line behind an instruction: the result is marked if a source is."""
    results = [e.slot(n) for n in writes(i) if n in e.code.graph.slots]
    if not results or i.opcode == "shfl":
        return
    sources = tuple(e.slot(n) for n in reads(i) if n in e.code.graph.slots)
    p = e.use(i.predicate, "pred") if i.predicate is not None else "True"
    if i.opcode == "selp" and isinstance(i.operands[3], Reg):
        a, b = (e.slot(x.name) if isinstance(x, Reg) else -1 for x in i.operands[1:3])
        e.line(f"TSEL(g,{results[0]},{e.use(i.operands[3], 'pred')},{a},{b},{p})")
        return
    e.line(f"TPASS(g,{tuple(results)},{sources},{p})")


def passed(g: Group, results: tuple[int, ...], sources: tuple[int, ...], p) -> None:
    marks = g.taint
    if not marks:
        return
    mark = None
    for s in sources:
        if s in marks:
            mark = marks[s] if mark is None else mark | marks[s]
    for r in results:
        _set(marks, r, mark, p)


def selected(g: Group, result: int, condition, a: int, b: int, p) -> None:
    marks = g.taint
    if not marks:
        return
    ma, mb = marks.get(a), marks.get(b)
    if ma is None and mb is None:
        _set(marks, result, None, p)
        return
    _set(marks, result, np.where(condition, False if ma is None else ma, False if mb is None else mb), p)


def _set(marks: dict, slot: int, mark, p) -> None:
    if p is not True:
        old = marks.get(slot)
        if mark is None and old is None:
            return
        mark = np.where(p, False if mark is None else mark, False if old is None else old)
    if mark is None or not np.any(mark):
        marks.pop(slot, None)
    else:
        marks[slot] = mark


def used(g: Group, slots: tuple[int, ...], p, line: int) -> None:
    marks = g.taint
    if not marks:
        return
    for slot in slots:
        mark = marks.get(slot)
        if mark is None:
            continue
        mark = mark & p
        if np.any(mark):
            report(g, np.broadcast_to(mark, g.shape), line)
            del marks[slot]


def report(g: Group, mark: ndarray, line: int) -> None:
    machine = g.batch.machine
    faults = machine.faults
    lane = int(np.flatnonzero(mark)[0])
    thread, block = faults.lane(g, lane)
    row = int(g.rows[lane // g.batch.B] if g.cols is None else g.rows[lane])
    sources = machine.absent_sources
    at, operation, wanted = sources.get(row) or next(iter(sources.values()), (None, "a shuffle", 31))  # another thread's: it came on by a shuffle
    exists = (row & ~31) + wanted < machine.T
    faults.add(
        explain.absent_lane_value(
            line=at, thread=thread, block=block, operation=operation, lane=wanted, used_line=line or None, exists=exists, count=int(np.count_nonzero(mark))
        )
    )


def shuffled(g: Group, result: int, source: int, mode: str, b, c) -> None:
    """The marks move with the values."""
    from ..instructions.warp import shuffle

    marks = g.taint
    if marks is None:
        return
    mark = marks.get(source)
    if mark is None:
        marks.pop(result, None)
        return
    full = np.broadcast_to(mark, (g.n, mark.shape[1] if mark.__class__ is ndarray else 1)).astype(np.uint32)
    moved, _ = shuffle(g, mode, full, b, c, 0xFFFFFFFF, -1)
    _set(marks, result, moved == 1, True)


def end(g: Group, live: frozenset[int]) -> None:
    """Marks of registers that are dead now are dropped."""
    if g.taint is not None:
        g.taint = {s: m for s, m in g.taint.items() if s in live} or None


def tainted_run(machine, code, pc: int):
    run = code.tainted(pc)
    machine.extend_counts()
    return run


TAINT_NAMES = {"TPASS": passed, "TSEL": selected, "TUSE": used, "TSHFL": shuffled, "TEND": end}
