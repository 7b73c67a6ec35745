"""Shared loads that ptxas joins: adjacent 4-byte loads of one thread become one 8- or 16-byte load where the address is known to be aligned.

The PTX still shows them apart (`As[ty][k]` … `As[ty][k + 3]` in an unrolled loop), so their requests and wavefronts are counted as the joined load's.
Alignment is what arithmetic on addresses proves: the largest power of two, up to 16, that divides a register's value in every lane.
"""

from __future__ import annotations

from dataclasses import dataclass

from .blocks import Graph, writes
from .ptx import Address, Imm, Instruction, Operand, Reg, Symbol

TOP = 16  # bytes of the widest load


@dataclass(frozen=True, slots=True)
class Joined:
    """How a load is counted: `bytes` at `back` bytes before its own address; 0 bytes: its neighbour's load brings the value along."""

    bytes: int
    back: int = 0


def _low(value: int) -> int:
    return min(value & -value, TOP) if value else TOP


def alignments(body: list[Instruction], symbols: dict[str, int]) -> dict[str, int]:
    """Register → power of two that divides its value. `symbols`: alignment of each shared variable's address."""
    known: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for i in body:
            names = writes(i)
            if not names:
                continue
            made = _made(i, known, symbols) if len(names) == 1 else 1
            for name in names:
                if made < known.get(name, 2 * TOP):
                    known[name] = made
                    changed = True
    return known


def _of(operand: Operand, known: dict[str, int], symbols: dict[str, int]) -> int:
    if isinstance(operand, Reg):
        return min(known.get(operand.name, TOP), TOP)
    if isinstance(operand, Imm):
        return _low(operand.value) if operand.kind == "int" else 1
    if isinstance(operand, Symbol):
        return min(symbols.get(operand.name, 1), _low(operand.offset))
    return 1


def _made(i: Instruction, known: dict[str, int], symbols: dict[str, int]) -> int:
    """What one instruction's result is a multiple of."""
    if i.modifiers and i.modifiers[-1] in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"):
        return 1
    sources = [_of(o, known, symbols) for o in i.operands[1:]]
    op = i.opcode
    if op in ("mov", "cvta", "neg", "abs"):
        return sources[0]
    if op == "cvt":
        return sources[0] if all(m[0] in "usb" for m in i.modifiers[-2:]) else 1
    if op in ("add", "sub", "or", "xor", "min", "max"):
        return min(sources[:2])
    if op == "selp":
        return min(sources[:2])
    if op == "and":
        return max(sources[:2])
    if op in ("mul", "mad"):
        product = min(sources[0] * sources[1], TOP) if "hi" not in i.modifiers else 1
        return min(product, sources[2]) if op == "mad" else product
    if op in ("shl", "shr") and isinstance(i.operands[2], Imm):
        k = i.operands[2].value
        return min(sources[0] << k, TOP) if op == "shl" else max(sources[0] >> k, 1)
    return 1


def _symbol_alignments(graph: Graph, variables) -> dict[str, int]:
    """Addresses of the static shared variables as ptxas places them, one after the other; dynamic memory keeps its declared alignment."""
    found: dict[str, int] = {}
    offset = 0
    for v in variables:
        if not v.size:
            found[v.name] = min(max(v.align, 1), TOP)
            continue
        offset = (offset + v.align - 1) // v.align * v.align
        found[v.name] = _low(offset)
        offset += v.size
    return found


def joined_loads(graph: Graph, variables) -> dict[int, Joined]:
    """Instruction index → how its shared load is counted, for those that ptxas joins."""
    body = graph.body
    if not any(_joinable(i) for i in body):
        return {}
    known = alignments(body, _symbol_alignments(graph, variables))
    found: dict[int, Joined] = {}
    for block in graph.blocks:
        open_: dict[tuple, list[tuple[int, int]]] = {}  # base → (offset, index)
        for k in range(block.start, block.end):
            i = body[k]
            if _joinable(i):
                address: Address = i.operands[1]  # type: ignore[assignment]
                base = address.base
                offset = address.offset + (base.offset if isinstance(base, Symbol) else 0)
                open_.setdefault((base.name,), []).append((offset, k))  # type: ignore[union-attr]
            elif _clobbers(i):
                _close(open_, known, found, graph, variables)
            for name in writes(i):
                if (name,) in open_:
                    _close_one(open_.pop((name,)), _base_alignment(name, known, graph, variables), found)
        _close(open_, known, found, graph, variables)
    return found


def _joinable(i: Instruction) -> bool:
    """A plain 4-byte load from shared memory."""
    return (
        i.opcode == "ld"
        and i.predicate is None
        and "shared" in i.modifiers
        and "volatile" not in i.modifiers
        and i.modifiers[-1] in ("f32", "u32", "s32", "b32")
        and not any(m in ("v2", "v4") for m in i.modifiers)
        and isinstance(i.operands[1], Address)
        and isinstance(i.operands[1].base, Reg | Symbol)
    )


def _clobbers(i: Instruction) -> bool:
    """What a load may not be moved across."""
    if i.opcode in ("st", "red", "atom", "cp", "stmatrix"):
        return any(m.startswith("shared") for m in i.modifiers) or not any(m in ("global", "local", "param") for m in i.modifiers)
    return i.opcode in ("membar", "fence", "bar", "barrier", "call")


def _base_alignment(name: str, known: dict[str, int], graph: Graph, variables) -> int:
    return known.get(name) or _symbol_alignments(graph, variables).get(name, 1)


def _close(open_: dict, known: dict[str, int], found: dict[int, Joined], graph: Graph, variables) -> None:
    for (name,), members in open_.items():
        _close_one(members, _base_alignment(name, known, graph, variables), found)
    open_.clear()


def _close_one(members: list[tuple[int, int]], alignment: int, found: dict[int, Joined]) -> None:
    at: dict[int, list[int]] = {}
    for offset, index in members:
        at.setdefault(offset, []).append(index)
    offsets = sorted(at)
    position = 0
    while position < len(offsets):
        start = offsets[position]
        aligned = min(alignment, _low(start))
        for words in (4, 2):
            if aligned >= 4 * words and all(start + 4 * w in at for w in range(1, words)):
                members_here = sorted(index for w in range(words) for index in at[start + 4 * w])
                first = members_here[0]
                own = next(o for o, indices in at.items() if first in indices)
                for index in members_here:
                    found[index] = Joined(0)
                found[first] = Joined(4 * words, own - start)
                position += words
                break
        else:
            position += 1
