"""Which groups wait in a loop for somebody else, which loops never end, and how much work a launch may be.

A group *spins* when it stands where it stood before, with the same registers, and nobody has stored anything in between: only a store of another
group can help it. Cycles are found by Brent's algorithm ("An improved Monte Carlo factorization algorithm", 1980): a state is kept, each following
one is compared with it, and the kept one is renewed after 1, 2, 4, 8 … states. If all groups of a launch spin, it would never end.

Loops that do change something end by a limit of work, in nominal nanoseconds, so that the same launch ends at the same step on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .blocks import Graph, writes
from .ptx import Imm, Instruction, Reg
from .values import Split, ndarray, same

if TYPE_CHECKING:
    from .batch import Batch
    from .group import Group

PATIENCE = 4_000_000_000  # nominal ns without a thread coming to its end, in a loop that nothing promises to end
COUNTED = 20_000_000_000  # the same in loops that count towards a bound
LAUNCH = 900_000_000_000  # nominal ns that the whole launch would take
DEPTH = 1024  # nested calls: a GPU's stack holds fewer

_MEMORY = frozenset(("ld", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "mma", "wmma", "call"))


def cost(instructions: list[Instruction]) -> tuple[int, int]:
    """Nominal nanoseconds of a block of code: (for any number of lanes, for each lane)."""
    memory = sum(i.opcode in _MEMORY for i in instructions)
    atomics = sum(i.opcode in ("atom", "red") for i in instructions)
    return 3000 + 700 * len(instructions) + 12000 * memory + 30000 * atomics, len(instructions) + 4 * memory + 40 * atomics


class Watch:
    """Remembers states of one batch."""

    __slots__ = ("version", "seen", "renew", "kept", "last", "picks")

    def __init__(self) -> None:
        self.version = -1
        self.forget()

    def forget(self) -> None:
        self.seen, self.renew, self.picks = 0, 1, 0
        self.kept: list[_State] | None = None
        self.last: tuple[int, int, int] | None = None

    def repeats(self, batch: Batch, g: Group) -> bool:
        """Whether the batch, whose group `g` has just run, is in a state it was in before, and nobody has stored since. Ask after every step."""
        version = batch.machine.stores
        if version != self.version:
            self.version = version
            self.forget()
            return False
        self.seen += 1
        place = (g.pc, id(g.code), g.n)
        if self.kept is not None and place == self.last and len(self.kept) == len(batch.groups) and all(map(_unchanged, self.kept, batch.groups)):
            return True
        if self.seen >= self.renew:
            self.renew *= 2
            self.kept, self.last, self.picks = [_State(x) for x in batch.groups], place, batch.picks
        return False

    def settle(self, batch: Batch) -> None:
        """After `repeats`: all groups that took part spin. Groups that never got a turn meanwhile don't."""
        starved = {id(s.group) for s in self.kept or () if s.group.ran <= self.picks and s.group.waits in ("", "forced") and s.group.idle != self.version}
        alone = len(starved) == len(batch.groups)
        for x in batch.groups:
            if x.waits in ("", "forced") and (alone or id(x) not in starved):
                x.idle = self.version
        self.forget()


class _State:
    """What a group was like."""

    __slots__ = ("group", "place", "regs", "frames", "rows", "cols")

    def __init__(self, g: Group):
        self.group, self.place, self.rows, self.cols, self.frames = g, (*g.place, g.waits), g.rows, g.cols, g.frames
        live = g.code.blocks[g.pc].live_in_slots
        self.regs = [g.regs[slot] for slot in live]


def _unchanged(old: _State, g: Group) -> bool:
    if old.place != (*g.place, g.waits):
        return False
    if not (_equal(old.rows, g.rows) and _equal(old.cols, g.cols)):
        return False
    for a, b in zip(old.frames, g.frames, strict=True):
        if a is not b and not all(map(_equal, a.regs, b.regs)):
            return False
    return all(_equal(value, g.regs[slot]) for value, slot in zip(old.regs, g.code.blocks[g.pc].live_in_slots, strict=True))


def _equal(a, b) -> bool:
    """Bit for bit the same register value; a held Split or array by its numbers."""
    if a is b:
        return True
    if a.__class__ is ndarray and b.__class__ is ndarray:
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if a.__class__ is Split and b.__class__ is Split:
        return _equal(a.t, b.t) and _equal(a.b, b.b)
    if a.__class__ in (ndarray, Split) or b.__class__ in (ndarray, Split) or a is None or b is None:
        return False
    return same(a, b) if not isinstance(a, np.floating) else a.tobytes() == b.tobytes() if isinstance(b, np.floating) else False


# ------------------------------------------------------------------------------------------------ loops that count


def counts_towards_a_bound(g: Group) -> bool:
    """Whether every loop that the group is in, its callers' included, compares a number that only steps with one that stays: it will end some day."""
    places = [(g.code.graph, g.pc), *((f.code.graph, f.pc) for f in g.frames)]
    return all(_counted(graph, body) for graph, pc in places for body in loops(graph) if pc in body)


def loops(graph: Graph) -> list[frozenset[int]]:
    """Bodies of the loops of a function, as block numbers: those that lie between a block and a jump back to it."""
    blocks = graph.blocks
    before: list[list[int]] = [[] for _ in blocks]
    for b in blocks:
        for s in b.successors:
            before[s].append(b.index)
    bodies: dict[int, set[int]] = {}
    for b in blocks:
        for head in b.successors:
            if head > b.index:
                continue
            body, queue = bodies.setdefault(head, {head}), [b.index]
            while queue:
                at = queue.pop()
                if at not in body:
                    body.add(at)
                    queue += before[at]
    return [frozenset(body) for body in bodies.values()]


def _counted(graph: Graph, body: frozenset[int]) -> bool:
    made: dict[str, list[Instruction]] = {}
    for index in body:
        for i in graph.blocks[index].instructions:
            for name in writes(i):
                made.setdefault(name, []).append(i)
    steps = {name for name in made}
    changed = True
    while changed:  # registers that are only moved and stepped
        changed = False
        for name in list(steps):
            if not all(_is_step(i, steps, made) for i in made[name]):
                steps.discard(name)
                changed = True
    moving = {name for name in steps if any(i.opcode != "mov" for i in _chain(name, made))}
    for index in body:
        block = graph.blocks[index]
        last = block.instructions[-1]
        if last.predicate is None or last.opcode != "bra" or all(s in body for s in block.successors):
            continue
        for i in made.get(last.predicate.name, ()):
            if i.opcode != "setp":
                continue
            a, b = i.operands[1], i.operands[2]
            for x, y in ((a, b), (b, a)):
                if isinstance(x, Reg) and x.name in moving and (isinstance(y, Imm) or (isinstance(y, Reg) and y.name not in made)):
                    return True
    return False


def _is_step(i: Instruction, steps: set[str], made: dict) -> bool:
    if i.opcode not in ("mov", "add", "sub", "shr", "shl", "cvt", "mul", "mad"):
        return False
    from_loop = [o for o in i.operands[1:] if isinstance(o, Reg) and o.name in made]
    return len(from_loop) == 1 and from_loop[0].name in steps and all(isinstance(o, Imm | Reg) for o in i.operands[1:])


def _chain(name: str, made: dict) -> list[Instruction]:
    """All instructions of the loop that a register's value passes through."""
    seen: set[str] = set()
    found: list[Instruction] = []
    queue = [name]
    while queue:
        at = queue.pop()
        if at in seen:
            continue
        seen.add(at)
        for i in made.get(at, ()):
            found.append(i)
            queue += [o.name for o in i.operands[1:] if isinstance(o, Reg)]
    return found
