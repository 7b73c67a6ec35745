"""Lanes of a warp that execute one operation together although they stand at different instructions.

`shfl.sync` and its like wait until every live lane of the member mask has executed one "with the same qualifiers and the same membermask" (PTX ISA 9.0,
9.7.9 and 9.7.13): not the same instruction. Compilers make use of that when they give some lanes a loop of their own, and a shuffle in both branches of
an if is right too. Each group's operands go to one joint group, which executes the operation once; each takes its results back.

Not all that may meet is meant to: see `may_meet`. Votes that aren't meant to are reported as if they could not. Shuffles meet when nobody else can go on,
as on an H200, and it is kept who met whom: if the lanes lack one another later, one of them had one shuffle too many, and that meeting is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import blocks, ptx
from .checks import warp_operation
from .checks.waiting import kind_of, missing
from .code import Code, plain_type
from .codegen import Emitter
from .group import Group
from .meeting import member_mask, parted
from .progress import loops
from .ptx import Instruction, Reg, Vector
from .shapes import take_rows
from .values import Split, Value, full, ndarray, u32

if TYPE_CHECKING:
    from .batch import Batch

_OPERANDS = {"shfl": ("b32", "u32", "u32", "b32"), "vote": ("pred", "b32"), "match": ("", "b32"), "redux": ("b32", "b32"), "elect": ("b32",), "bar": ("b32",)}
_RESULTS = {"shfl": ("b32", "pred"), "vote": ("pred",), "match": ("b32",), "redux": ("b32",), "elect": ("b32", "pred"), "bar": ()}
_MEANT = ("shfl", "bar")  # these are written in both branches of an if, too


@dataclass(slots=True)
class Operation:
    """What one instruction brings to a meeting: which others it can meet (equal `kind`), and how its operands and results move."""

    kind: tuple
    joint: Code  # the operation on registers 0, 1, … (operands), then results
    operands: Callable[[Group], tuple]
    results: Callable[[Group, tuple], None]
    arity: int  # how many operands
    slots: tuple[tuple[int, int], ...]  # (slot of an operand, its number): marks of absent lanes move along
    made: tuple[tuple[int, int], ...]  # (slot of a result, its number)


def operation(g: Group) -> Operation | None:
    """The masked operation at which the group stands; None where lanes can meet at one instruction only."""
    known = g.code.operations
    if g.pc not in known:
        known[g.pc] = _operation(g.code, g.pc)
    return known[g.pc]


def _operation(code: Code, pc: int) -> Operation | None:
    block = code.blocks[pc]
    i = block.instructions[0]
    if i.opcode not in _OPERANDS or i.predicate is not None or blocks.for_whole_warps(i):
        return None
    types = tuple(t or i.modifiers[-1] for t in _OPERANDS[i.opcode])
    made = _results(i)
    first = i.operands[0] if made else None
    results = list(first.items) if isinstance(first, Vector) else [first] if made else []
    operands = i.operands[1:] if made else i.operands
    kind = (i.opcode, i.modifiers)
    joint = code.program.joint.get(kind)
    if joint is None:
        joint = code.program.joint[kind] = _joint(code, i, types, made)
    reader = Emitter(code, block)
    reader.instruction = i
    values = "".join(reader.use(o, t) + "," for o, t in zip(operands, types, strict=True))
    writer = Emitter(code, block)
    writer.instruction = i
    for k, result in enumerate(results):
        writer.define(result, made[k], f"v[{k}]")
    stores = [f"R[{slot}]=r{slot}" for slot in sorted(writer.written)]
    scope = {**code.program.scope, **reader.constants, **writer.constants}
    texts = ["def operands(g):", " R=g.regs", *(" " + x for x in reader.lines), f" return ({values})"]
    texts += ["def results(g,v):", " R=g.regs", *(" " + x for x in [*writer.lines, *stores]), " return None"]
    exec(compile("\n".join(texts), f"<{code.function.name} block {pc}, met apart>", "exec"), scope)
    slot = code.graph.slots
    n = len(operands)
    return Operation(
        kind, joint, scope["operands"], scope["results"], n,
        tuple((slot[o.name], k) for k, o in enumerate(operands) if isinstance(o, Reg)),
        tuple((slot[r.name], n + k) for k, r in enumerate(results) if isinstance(r, Reg)),
    )  # fmt: skip


def _results(i: Instruction) -> tuple[str, ...]:
    if i.opcode == "vote" and "ballot" in i.modifiers:
        return ("b32",)
    return ("b32", "pred") if i.opcode == "match" and "all" in i.modifiers else _RESULTS[i.opcode]


def _joint(code: Code, i: Instruction, types: tuple[str, ...], made: tuple[str, ...]) -> Code:
    """A function of this one operation, all of whose operands and results are registers."""
    names = {f"%{k}": plain_type(t) for k, t in enumerate((*types, *made))}
    registers = tuple(Reg(name, type) for name, type in names.items())
    sources, results = registers[: len(types)], registers[len(types) :]
    operands = (results[0] if len(results) == 1 else Vector(results), *sources) if results else sources
    alone = Instruction(i.opcode, i.modifiers, operands, None, i.line, i.inlined, i.file, i.text)
    function = ptx.Function(code.function.name, False, [], [], names, [], {}, {}, {}, instructions=[alone])
    graph = blocks.build(function, [alone])
    graph.slots = {name: k for k, name in enumerate(names)}
    block = graph.blocks[0]
    block.live_in_slots, block.live_out_slots = tuple(range(len(types))), tuple(range(len(types), len(names)))
    return Code(code.program, function, graph, list(names.values()), frozenset(), {}, 0, -1, runs=[None], masks=[None])


# ------------------------------------------------------------------------------------------------ who meets


def meet(batch: Batch, g: Group, ahead: bool = False) -> bool:
    """`g` waits for lanes of its mask: let those go on whose whole mask waits at its kind of operation, if at other places; whether there were any.

    `ahead`: nobody else can go on, so shuffles may meet that are not meant to.
    """
    if sum(x.waits == "warp" for x in batch.groups) < 2:
        return False
    own = operation(g)
    if ahead and (own is None or own.kind[0] not in _MEANT):
        return False
    groups = [x for x in batch.groups if own and x.waits == "warp" and (other := operation(x)) and other.kind == own.kind]
    if len(groups) < 2:
        return False
    going = _complete(batch, groups, ahead)
    if not going.any():
        return False
    parts = [part for g in groups if (part := _part(batch, g, going)) is not None]
    _execute(batch, parts)
    return True


def _complete(batch: Batch, groups: list[Group], ahead: bool) -> ndarray:
    """Lanes (threads × blocks) whose warps are complete, and in several places that may meet. `ahead`: in any places, but those that may not are kept."""
    lanes, warps = (batch.W * 32, batch.B), (batch.W, 32, batch.B)
    places, masks, awaited = np.full(lanes, -1), np.zeros(lanes, u32), np.zeros(lanes, bool)
    for k, g in enumerate(groups):
        at = g.rows if g.cols is None else (g.rows, g.cols)
        m = full(member_mask(g))
        places[at], masks[at] = k, m if m.__class__ is int or g.cols is None else m[:, 0]
    awaited[: batch.T] = ~batch.exited
    place, mask, alive = places.reshape(warps), masks.reshape(warps), awaited.reshape(warps)
    bit = np.arange(32, dtype=u32)[None, :, None]
    going = np.zeros(warps, bool)
    for one in np.unique(mask[place >= 0]):
        named = (one >> bit & u32(1)) != 0
        here = (place >= 0) & (mask == one) & named
        lacks = (named & alive & ~here).any(axis=1, keepdims=True)
        going |= here & ~lacks
    several = np.where(going, place, -1).max(axis=1) != np.where(going, place, len(groups)).min(axis=1)
    going &= several[:, None, :]
    for a in range(len(groups)):
        for b in range(a):
            both = (going & (place == a)).any(axis=1) & (going & (place == b)).any(axis=1)
            if both.any() and not may_meet(groups[a], groups[b]):
                if ahead:
                    _keep(batch, groups[a], groups[b], both)
                else:
                    going &= ~both[:, None, :]
    return going.reshape(lanes)


def _keep(batch: Batch, a: Group, b: Group, both: ndarray) -> None:
    """Lanes of these warps (× blocks) meet at places that are not meant to meet: what to say of the one behind, if they lack one another later."""
    behind = b if a.code is b.code and a.pc in b.code.graph.behind(b.pc) else a
    finding = missing(batch.machine.faults, behind) if batch.machine.check else None
    if finding is None:
        return
    for warp, column in np.argwhere(both).tolist():
        batch.met_ahead.setdefault((warp, column), (replace(finding), kind_of(a)))


def level(batch: Batch, g: Group) -> None:
    """All of a warp execute an operation together: if it is another one than shuffles that met ahead, all have had the same number of those."""
    for (warp, column), (_, kind) in list(batch.met_ahead.items()):
        if kind != kind_of(g) or g.code.blocks[g.pc].kind == "barrier":
            alive = np.flatnonzero(~batch.exited[32 * warp : 32 * warp + 32, column]) + 32 * warp
            if np.isin(alive, g.rows if g.cols is None else g.rows[g.cols == column]).all():
                del batch.met_ahead[warp, column]


def may_meet(a: Group, b: Group) -> bool:
    """Whether two places where lanes meet are no sign of a mistake.

    Copies of one instruction are none, if a compiler has split a loop or a branch. Nor are two shuffles, or two __syncwarp, neither of which lies ahead of
    the other. Lanes that stand further ahead have passed the other instruction by: they were left out there, and the others will come to theirs too. And
    who votes in both branches of an if asks, nearly always, for the lanes of each, though the ISA lets them meet (and an H200 does).
    """
    for (code, pc), (other, further) in zip(_path(a), _path(b), strict=False):
        if code is not other:
            return False
        if pc != further:
            verdicts = code.meetings
            key = (min(pc, further), max(pc, further))
            if key not in verdicts:
                verdicts[key] = _apart(code.graph, *key, a.code.blocks[a.pc].instructions[0].opcode in _MEANT)
            return verdicts[key]
    return False


def _path(g: Group) -> list[tuple[Code, int]]:
    return [*((frame.code, frame.pc) for frame in g.frames), (g.code, g.pc)]


def _apart(graph: blocks.Graph, a: int, b: int, meant: bool) -> bool:
    first, second = graph.blocks[a].instructions[0], graph.blocks[b].instructions[0]
    copies = bool(first.line) and (first.line, first.inlined) == (second.line, second.inlined)
    if b not in graph.behind(a) and a not in graph.behind(b):
        return meant or copies
    if not copies:
        return False
    around = loops(graph)  # rounds of one unrolled loop are in the same loops
    return [a in body for body in around] != [b in body for body in around]


# ------------------------------------------------------------------------------------------------ together


def _part(batch: Batch, g: Group, going: ndarray) -> Group | None:
    """The lanes of a group that go on; the others stay, and look again whether they are complete."""
    lanes = going[g.rows] if g.cols is None else going[g.rows, g.cols][:, None]
    if not lanes.any():
        return None
    if lanes.all():
        return g
    return parted(batch, g, lanes)[0]


def _execute(batch: Batch, parts: list[Group]) -> None:
    machine = batch.machine
    operations = [operation(g) for g in parts]
    joint: Group | None = None
    for g, of in zip(parts, operations, strict=True):
        assert of is not None
        code = of.joint
        own = Group(batch, g.rows, g.cols, 0, [*of.operands(g), *[None] * (len(code.slot_types) - of.arity)], code)
        own.origin = g.origin
        own.taint = {k: g.taint[slot] for slot, k in of.slots if slot in g.taint} or None if g.taint else None
        joint = own if joint is None else joint.merged(own)
    assert joint is not None
    run = joint.code.run(0) if joint.taint is None else machine.tainted_run(joint.code, 0)
    before, machine.absent_sources = machine.absent_sources, {}
    run(joint)
    machine.absent_sources = _sources(machine.absent_sources, before, parts)
    for g, of in zip(parts, operations, strict=True):
        assert of is not None
        index = _index(joint, g)
        of.results(g, tuple(_taken(joint, g, v, index) for v in joint.regs[of.arity :]))
        _mark(joint, g, of, index)
        executed = machine.executed_of(g.code)
        executed[0][g.pc] += g.nwarps
        executed[1][g.pc] += g.nlanes
        fixed, each = g.code.costs[g.pc]
        machine.work += fixed + each * g.nlanes
        g.steps += 1
        g.came_from, g.pc, g.waits = g.pc, g.pc + 1, ""


def _index(joint: Group, g: Group) -> ndarray:
    """Where the lanes of a part are in the joint group: rows of it, (n, 1) or (n, B)."""
    if joint.cols is None:
        return joint.inverse[g.rows][:, None]
    return joint.inverse[g.rows[:, None] * g.batch.B + g.block_columns]


def _taken(joint: Group, g: Group, v: Any, index: ndarray) -> Value:
    """A value of the joint group in the lanes of one part."""
    if v.__class__ is Split:
        v = v.full()
    if v.__class__ is not ndarray:
        return v
    if joint.cols is None and g.cols is None:
        return take_rows(v, index[:, 0])
    if joint.cols is None:
        return np.broadcast_to(v, joint.shape)[index[:, 0], g.cols][:, None]
    return np.broadcast_to(v, joint.shape)[index, 0]


def _sources(found: dict, before: dict, parts: list[Group]) -> dict:
    """Where threads took values from absent lanes: each on its own line. Earlier ones are kept as long as such a value is alive."""
    if not found:
        return before
    for g in parts:
        line, name = g.batch.machine.faults.pc_line(g), warp_operation(g.batch.machine.faults, g)
        found |= {row: (line, name, found[row][2]) for row in g.rows.tolist() if row in found}
    return found | before if any(g.taint for g in parts) else found


def _mark(joint: Group, g: Group, of: Operation, index: ndarray) -> None:
    """Results from absent lanes are marked, others aren't any more."""
    marks = dict(g.taint or {})
    for slot, k in of.made:
        marks.pop(slot, None)
        if joint.taint and k in joint.taint:
            marks[slot] = _taken(joint, g, joint.taint[k], index)
    g.taint = marks or None
