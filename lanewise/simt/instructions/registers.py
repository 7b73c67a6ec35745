"""setmaxnreg: a warpgroup gives registers back to its block, or waits until there are more for it (PTX ISA 9.7.20.5).

A block's pool is what it was launched with. ptxas only heeds the instruction where it knows that number: from __launch_bounds__(threads, blocks) or
.maxnreg; elsewhere it does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import explain_tensor
from ..branches import branch
from ..checks.wgmma import incomplete, whole
from ..codegen import Emitter
from ..ptx import Imm, Instruction
from ..values import i64, ndarray

if TYPE_CHECKING:
    from ..batch import Batch
    from ..group import Group
    from ..machine import Machine

FILE = 65536  # registers of a multiprocessor
UNIT = 8
MOST = 256
WARPGROUP = 128


def at_launch(machine: Machine) -> int | None:
    """Registers a thread begins with; None where the compiler doesn't say, and so ignores setmaxnreg.

    Measured with ptxas 13.0: 168 for __launch_bounds__(384, 1); "setmaxnreg ignored" where the second bound is missing.
    """
    directives = machine.program.entry.directives
    fixed = directives.get("maxnreg")
    if fixed:
        return fixed[0]
    threads, blocks = directives.get("maxntid") or directives.get("reqntid"), directives.get("minnctapersm")
    if not threads or not blocks:
        return None
    return min(FILE // (int(np.prod(threads)) * max(blocks[0], 1)) // UNIT * UNIT, MOST)


class Pool:
    """Registers a thread of each warpgroup, and registers that nobody has, in every block of a batch."""

    def __init__(self, batch: Batch, each: int):
        groups = -(-batch.T // WARPGROUP)
        self.batch = batch
        self.held = np.full((groups, batch.B), each, i64)
        self.free = np.zeros(batch.B, i64)

    def columns(self, batch: Batch, keep: ndarray) -> Pool:
        other = Pool.__new__(Pool)
        other.batch, other.held, other.free = batch, np.ascontiguousarray(self.held[:, keep]), self.free[keep]
        return other


def set_registers(g: Group, count: int, more: bool, line: int, next_pc: int) -> int:
    """Where the group goes on; −1 while it waits for registers."""
    batch = g.batch
    machine = batch.machine
    if machine.check and not whole(g):
        incomplete(machine.faults, g)
    each = at_launch(machine)
    if each is None:
        if machine.check:
            machine.faults.add(explain_tensor.setmaxnreg_ignored(line=line or None, threads=machine.T))
        return next_pc
    if batch.registers is None:
        batch.registers = Pool(batch, each)
    pool: Pool = batch.registers
    done = np.zeros(g.shape, bool)
    freed = False
    for warpgroup in np.unique(g.rows >> 7).tolist():
        rows = g.rows >> 7 == warpgroup
        columns = np.arange(batch.B) if g.cols is None else np.unique(g.cols[rows])
        need = (count - pool.held[warpgroup, columns]) * WARPGROUP
        wrong = need < 0 if more else need > 0
        if wrong.any() and machine.check:
            _wrong_way(g, line, count, int(pool.held[warpgroup, columns][wrong][0]), more)
        fits = need <= pool.free[columns]
        pool.free[columns] -= np.where(fits, need, 0)
        pool.held[warpgroup, columns] = np.where(fits, count, pool.held[warpgroup, columns])
        freed |= bool((need[fits] < 0).any())
        if g.cols is None:
            done[rows] = fits
        else:
            done[rows, 0] = fits[np.searchsorted(columns, g.cols[rows])]
    if freed:
        _wake(batch)
    if done.all():
        return next_pc
    if done.any():
        return branch(g, done, next_pc, g.pc)
    g.waits = "registers"
    return -1


def _wake(batch: Batch) -> None:
    batch.machine.stores += 1
    for g in batch.groups:
        if g.waits == "registers":
            g.waits = ""


def _wrong_way(g: Group, line: int, count: int, held: int, more: bool) -> None:
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    faults.add(explain_tensor.registers_wrong_way(line=line or None, count=count, held=held, more=more, thread=thread, block=block))


def deadlock(batch: Batch) -> bool:
    """Report that a warpgroup waits for registers that nobody will give back; whether it is so."""
    g = next((g for g in batch.groups if g.waits == "registers"), None)
    if g is None:
        return False
    faults, pool = batch.machine.faults, batch.registers
    column = 0 if g.cols is None else int(g.cols[0])
    i = g.code.blocks[g.pc].instructions[0]
    wanted = i.operands[0].value  # type: ignore[union-attr]
    faults.add(
        explain_tensor.no_registers(
            line=faults.pc_line(g), wanted=wanted, held=pool.held[:, column].tolist(), warpgroup=int(g.rows[0]) >> 7, free=int(pool.free[column]),
            threads=sorted({int(r) for r in g.rows}), block=faults.block(int(batch.ids[column])),
        )
    )  # fmt: skip
    return True


def emit_setmaxnreg(e: Emitter, i: Instruction) -> bool:
    count = i.operands[0]
    if i.predicate is not None or not isinstance(count, Imm) or not 24 <= count.value <= MOST or count.value % UNIT:
        raise e.unsupported("a count that is a multiple of 8 from 24 to 256 and no predicate are needed")
    e.line(f"return SETMAXNREG(g,{count.value},{'inc' in i.modifiers},{i.line},{e.block.index + 1})")
    return True


EMIT = {"setmaxnreg": emit_setmaxnreg}
NAMES = {"SETMAXNREG": set_registers}
