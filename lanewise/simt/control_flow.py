"""What generated code calls to branch, call, wait and leave: `RUNTIME`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import checks
from .barriers import barrier, sync_warp
from .branches import branch
from .calls import enter, returns
from .errors import Stop
from .group import Group
from .runtime import BUILT_IN, call_built_in
from .values import Split, Value, ndarray


def clock(g: Group, name: str) -> Value:
    """A count that grows as the launch goes on; cycles of no real machine."""
    g.batch.machine.stores += 1  # a loop that looks at the clock sees something new each time
    now = g.batch.machine.clock * 32 + g.steps
    return now if name in ("clock64", "globaltimer") else 0 if name.endswith("_hi") else now & 0xFFFFFFFF


def leave_some(g: Group, p: Value, how: Callable, next_pc: int) -> int:
    """A predicated ret or exit."""
    if p is True:
        return how(g)
    if p is False:
        return next_pc
    flat, mask = _by_lane(g, p)
    if mask.all():
        return how(g)
    if not mask.any():
        return next_pc
    going, staying = flat.taken(np.flatnonzero(mask)), flat.taken(np.flatnonzero(~mask), next_pc)
    g.batch.replace(g, staying, going)
    how(going)
    return -1


def _by_lane(g: Group, x: ndarray) -> tuple[Group, ndarray]:
    """A group whose threads differ in `x` but need not differ between blocks, else lane by lane; and `x` for each row of it."""
    flat = g if x.shape[1] == 1 else g.flattened()
    return flat, np.broadcast_to(x, g.shape).reshape(-1) if flat is not g else np.broadcast_to(x, (g.n, 1))[:, 0]


def branch_table(g: Group, index: Value, table: tuple[int, ...]) -> int:
    """brx.idx: one lane set after the other where they differ."""
    index = index.full() if index.__class__ is Split else index
    if index.__class__ is int:
        return table[index] if index < len(table) else -1
    values = np.unique(index)
    if len(values) == 1:
        return table[int(values[0])]
    flat, full = _by_lane(g, index)
    g.batch.replace(g, *(flat.taken(np.flatnonzero(full == k), table[int(k)]) for k in values))
    return -1


def trap(g: Group) -> int:
    g.batch.machine.faults.trapped(g)
    raise Stop


def call(g: Group, callee: Value, args: tuple[str, ...], results: tuple[str, ...], next_pc: int) -> int:
    machine = g.batch.machine
    if callee.__class__ is not str:
        target = callee
        if target.__class__ is ndarray:
            values = np.unique(target)
            if len(values) > 1:
                flat, full = _by_lane(g, target)
                parts = [flat.taken(np.flatnonzero(full == k)) for k in values]
                g.batch.replace(g, *parts)
                for part, k in zip(parts, values, strict=True):
                    following = call(part, int(k), args, results, next_pc)
                    if following >= 0:
                        part.pc = following
                return -1
            target = int(values[0])
        name = machine.program.function_at(target)
        if name is None:
            machine.faults.bad_call(g, target)
            raise Stop
        callee = name
    if callee in BUILT_IN:
        return call_built_in(g, callee, args, results, next_pc)
    return enter(g, callee, args, results, next_pc)


def taint(g: Group, slot: int) -> None:
    """The value just shuffled came, in some lanes, from a lane that isn't there."""
    machine = g.batch.machine
    if g.taint is None:
        g.taint = {}
    g.taint[slot] = machine.fresh_taint | g.taint.get(slot, False)
    machine.fresh_taint = None


RUNTIME: dict[str, Any] = {
    **checks.TAINT_NAMES,
    "WATCH": checks.watch,
    "BRANCH": branch,
    "BRX": branch_table,
    "RET": returns,
    "EXIT": lambda g: g.batch.leave(g),
    "TRAP": trap,
    "LEAVE": leave_some,
    "CALL": call,
    "BARRIER": lambda g, *rest: barrier(g.batch, g, *rest),
    "WARPSYNC": lambda g: sync_warp(g.batch, g),
    "CLOCK": clock,
    "TAINT": taint,
    "ACQUIRE": lambda g, address: g.batch.machine.order.acquire(g, address),
    "RELEASE": lambda g, address: g.batch.machine.order.release(g, address),
    "FENCE": lambda g, scope="gpu": g.batch.machine.order.fence(g, scope),
}
