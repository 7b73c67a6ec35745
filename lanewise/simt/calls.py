"""Calls of device functions: a frame for the caller's registers, and the parameters' slots."""

from __future__ import annotations

from .group import Frame, Group
from .progress import DEPTH


def enter(g: Group, name: str, args: tuple[str, ...], results: tuple[str, ...], next_pc: int) -> int:
    """Enter a device function: its parameters' slots get what the caller stored."""
    machine = g.batch.machine
    caller, callee = g.code, machine.program.code(name)
    machine.executed_of(callee)
    stack = g.stack + caller.local_size
    if len(g.frames) >= DEPTH or not g.batch.local.reserve(stack + callee.local_size):
        machine.faults.stack_overflow(g)
    regs: list = [None] * len(callee.slot_types)
    for parameter, arg in zip(callee.function.params, args, strict=True):
        for (owner, offset), slot in callee.params.items():
            if owner == parameter.name:
                regs[slot] = g.regs[caller.params[arg, offset]] if (arg, offset) in caller.params else 0
    wanted = tuple(
        ((value.name, offset), slot)
        for value, result in zip(callee.function.returns, results, strict=True)
        for (owner, offset), slot in caller.params.items()
        if owner == result
    )
    g.frames = (*g.frames, Frame(caller, next_pc, g.regs, wanted, stack))
    g.code, g.regs, g.pc = callee, regs, 0
    return -1


def returns(g: Group) -> int:
    """Back to the caller with the results; the kernel itself is left."""
    if not g.frames:
        return g.batch.leave(g)
    frame: Frame = g.frames[-1]
    regs = list(frame.regs)
    for key, slot in frame.results:
        regs[slot] = g.regs[g.code.params[key]] if key in g.code.params else 0
    g.frames = g.frames[:-1]
    g.code, g.regs, g.pc = frame.code, regs, frame.pc
    return -1
