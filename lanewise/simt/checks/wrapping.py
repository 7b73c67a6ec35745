"""32-bit products that wrap around on their way to an address: `x[n * n + i]` with n = 65536.

Which products those are shows in the PTX: from every address backwards through additions, multiplications, shifts and conversions, but not through
masks and remainders (a hash that wraps on purpose). Only those are watched, and only while they are executed for the first few times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import remarks
from ..blocks import Graph, writes
from ..ptx import Address, Reg
from ..values import Split, signed, to_array

if TYPE_CHECKING:
    from ..group import Group

_THROUGH = {"add", "sub", "mul", "mad", "shl", "cvt", "mov", "cvta", "selp"}
_MEMORY = {"ld", "st", "atom", "red"}
WATCHED = 16  # executions of one product that are looked at


def watched_products(graph: Graph) -> dict[int, str | None]:
    """Instruction index of each 32-bit mul or mad that feeds an address → where that address points (a parameter or variable)."""
    made: dict[str, list[int]] = {}
    for k, i in enumerate(graph.body):
        for name in writes(i):
            made.setdefault(name, []).append(k)
    found: dict[int, str | None] = {}
    for k, i in enumerate(graph.body):
        if i.opcode not in _MEMORY:
            continue
        address = next((o for o in i.operands if isinstance(o, Address)), None)
        if address is None or not isinstance(address.base, Reg):
            continue
        queue, seen = [address.base.name], set()
        while queue:
            name = queue.pop()
            if name in seen:
                continue
            seen.add(name)
            for index in made.get(name, ()):
                source = graph.body[index]
                if source.opcode not in _THROUGH:
                    continue
                if source.opcode in ("mul", "mad") and source.modifiers[:1] == ("lo",) and source.modifiers[-1] in ("s32", "u32"):
                    found.setdefault(index, graph.provenance.get(k))
                queue += [o.name for o in source.operands[1:] if isinstance(o, Reg)]
    return found


def _bounds(x) -> tuple[int, int]:
    if x.__class__ is int:
        return signed(x, 32), signed(x, 32)
    if x.__class__ is Split:
        return x.bounds
    view = x.view(np.int32)
    return int(view.min()), int(view.max())


def watch(g: Group, a, b, index: int) -> None:
    """Called before a watched product."""
    machine = g.batch.machine
    if not machine.check:
        return
    key = (g.code.number, index)
    times = machine.watched.get(key, 0)
    if times >= WATCHED:
        return
    machine.watched[key] = times + 1
    (a0, a1), (b0, b1) = _bounds(a), _bounds(b)
    products = (a0 * b0, a0 * b1, a1 * b0, a1 * b1)
    worst = max(products, key=abs)
    if -(1 << 31) <= min(products) and max(products) < 1 << 32:
        return
    machine.watched[key] = WATCHED
    lane = 0
    if a.__class__ is not int or b.__class__ is not int:
        x, y = (np.broadcast_to(to_array(factor, 32), g.shape).view(np.int32) for factor in (a, b))
        exact = x.astype(np.int64) * y
        lanes = np.flatnonzero(((exact < -(1 << 31)) | (exact >= 1 << 32)).ravel())
        if not len(lanes):
            return
        lane, worst = int(lanes[0]), int(exact.ravel()[lanes[0]])
    thread, block = machine.faults.lane(g, lane)
    origin = g.code.products.get(index)
    name = (machine.argument_name(origin) or machine.faults.variable(origin)[0]) if origin else None
    machine.faults.add(remarks.index_wrapped(line=g.code.graph.body[index].line or None, thread=thread, block=block, array=name, value=worst))
