"""Shared accesses that ptxas joins: neighbouring 4-byte loads (stores) of one thread become one of 8 or 16 bytes where the address is known to be aligned,
and a load of what was loaded before is left out.

The PTX still shows them apart (`As[ty][k]` … `As[ty][k + 3]` in an unrolled loop), so their requests and wavefronts are counted as the joined access's.
The rules were read off the machine code of our NVRTC (about fifty small kernels) and agree with Nsight Compute's counters on an H200:
accesses of one base register in one basic block, nothing between them that orders shared memory, and loads in the blocks that follow it in any case,
whatever runs in between but loops; of a 16-byte window, three or four words make one 128-bit load (four words one 128-bit store), an aligned pair one
64-bit access. Alignment is what arithmetic on addresses proves: the largest power of two, up to 16, that divides a register's value in every lane. Of a
static variable named in the access itself ptxas knows the very address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .blocks import Block, Graph, writes
from .ptx import Address, Imm, Instruction, Operand, Reg, Symbol

TOP = 16  # bytes of the widest access
STATIC = ""  # the base of all static variables
_ORDERING = {"membar", "fence", "bar", "barrier", "call", "mbarrier", "nanosleep", "wgmma", "setmaxnreg", "griddepcontrol"}


@dataclass(frozen=True, slots=True)
class Joined:
    """How an access is counted: as `bytes` at `back` bytes before its own address; 0 bytes: a neighbour's access covers it."""

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
    if op in ("add", "sub", "or", "xor", "min", "max", "selp"):
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


def _places(variables) -> dict[str, int]:
    """Where ptxas places the static shared variables, one after the other."""
    found: dict[str, int] = {}
    offset = 0
    for v in variables:
        if v.size:
            offset = (offset + v.align - 1) // v.align * v.align
            found[v.name] = offset
            offset += v.size
    return found


def joined_accesses(graph: Graph, variables) -> dict[int, Joined]:
    """Instruction index → how its shared access is counted, for those that ptxas joins."""
    body = graph.body
    if not any(_words(i) or i.opcode == "ldmatrix" for i in body):
        return {}
    places = _places(variables)
    symbols = {v.name: _low(places.get(v.name, 0)) for v in variables}  # dynamic memory starts 16-byte aligned
    known = {**symbols, **alignments(body, symbols), STATIC: TOP}
    found: dict[int, Joined] = {}
    for chain in chains(graph):
        runs: dict[str, _Run] = {"ld": _Run(places), "st": _Run(places)}
        for block, passed in chain:
            if passed:  # stores stay before the branch
                runs["st"].close(known, found)
            for i in passed:
                _close_written(i, runs, known, found)
            for k in range(block.start, block.end):
                _follow(body[k], k, runs, known, found)
        for run in runs.values():
            run.close(known, found)
    return found


def _follow(i: Instruction, k: int, runs: dict[str, _Run], known: dict[str, int], found: dict[int, Joined]) -> None:
    """What instruction k, `i`, begins, continues or ends."""
    words = _words(i)
    if orders(i):
        for run in runs.values():
            run.close(known, found)
    elif i.opcode == "st" and _shared(i):  # a store may not be moved over a load of shared memory, nor a load over a store
        runs["ld"].close(known, found)
    elif i.opcode in ("ld", "ldmatrix") and _shared(i):
        runs["st"].close(known, found)
    if words:
        runs[i.opcode].add(i, k, words, found)
    elif i.opcode == "ldmatrix" or (i.opcode == "ld" and "v4" in i.modifiers and _plain(i)):
        runs["ld"].repeated(i, k, found)
    _close_written(i, runs, known, found)


def _close_written(i: Instruction, runs: dict[str, _Run], known: dict[str, int], found: dict[int, Joined]) -> None:
    for name in writes(i):
        for run in runs.values():
            run.close_base(name, known, found)


def chains(graph: Graph) -> Iterator[list[tuple[Block, list[Instruction]]]]:
    """Blocks that ptxas loads ahead in: each with the instructions that may run since the one before it, those between a branch and its join."""
    before: dict[int, set[int]] = {block.index: set() for block in graph.blocks}
    for block in graph.blocks:
        for successor in block.successors:
            before[successor].add(block.index)
    continued: set[int] = set()
    for start in graph.blocks:
        if start.index in continued:
            continue
        chain, passed = [(start, list[Instruction]())], _passed(graph, start, before)
        while passed is not None:
            following = graph.blocks[passed[0]]
            continued.add(following.index)
            chain.append((following, passed[1]))
            passed = _passed(graph, following, before)
        yield chain


def _passed(graph: Graph, block: Block, before: dict[int, set[int]]) -> tuple[int, list[Instruction]] | None:
    """(the block that every way from `block` leads to, and from nowhere else, and what may run until then); None where a loop or a store is on the way."""
    if len(block.successors) == 1:
        (only,) = block.successors
        straight = before[only] == {block.index} and only > block.index and graph.body[block.end - 1].opcode not in ("ret", "exit", "trap")
        return (only, []) if straight else None
    if block.join is None or not block.successors:
        return None
    inside: set[int] = set()
    queue = [s for s in block.successors if s != block.join]
    while queue:
        index = queue.pop()
        if index in inside:
            continue
        inside.add(index)
        following = graph.blocks[index].successors
        if index <= block.index or not following or any(s <= index for s in following):
            return None
        queue += [s for s in following if s != block.join]
    if not all(before[index] <= inside | {block.index} for index in (*inside, block.join)):
        return None
    instructions = [i for index in sorted(inside) for i in graph.blocks[index].instructions]
    if any(orders(i) or (i.opcode == "st" and _shared(i)) for i in instructions):
        return None
    return block.join, instructions


def _shared(i: Instruction) -> bool:
    return any(m.startswith("shared") for m in i.modifiers)


def _address(i: Instruction) -> Address | None:
    operand = i.operands[0] if i.opcode == "st" else i.operands[1]
    return operand if isinstance(operand, Address) else None


def _words(i: Instruction) -> int:
    """Words of a plain shared load or store that could be joined (1 or 2), else 0."""
    if i.opcode not in ("ld", "st") or not _plain(i) or "v4" in i.modifiers or i.modifiers[-1] not in ("f32", "u32", "s32", "b32"):
        return 0
    return 2 if "v2" in i.modifiers else 1


def _plain(i: Instruction) -> bool:
    """An access to shared memory of the block itself, by all lanes, which others need not see in order."""
    address = _address(i)
    own = _shared(i) and i.predicate is None and {"volatile", "relaxed", "acquire", "release", "shared::cluster"}.isdisjoint(i.modifiers)
    return own and address is not None and isinstance(address.base, Reg | Symbol)


def orders(i: Instruction) -> bool:
    """What no shared access is moved across."""
    if i.opcode in ("st", "ld"):
        generic = not any(m.split("::")[0] in ("global", "local", "param", "const", "shared") for m in i.modifiers)
        return generic and i.opcode == "st"
    if i.opcode in ("red", "atom", "cp", "stmatrix"):
        return (_shared(i) or "global" not in i.modifiers) and "commit_group" not in i.modifiers
    return i.opcode in _ORDERING


class _Run:
    """Accesses of one kind since something ordered memory, by their base. Static variables, whose places are known, are one base."""

    def __init__(self, places: dict[str, int]) -> None:
        self.places = places
        self.by_base: dict[str, list[tuple[int, int, int]]] = {}  # (offset, words, index)
        self.wide: dict[str, set[tuple]] = {}  # of ldmatrix and loads of 16 bytes: by their base, what was loaded

    def repeated(self, i: Instruction, index: int, found: dict[int, Joined]) -> None:
        """A load that needn't be joined: the second one from an address counts as nothing."""
        address = _address(i)
        if address is None or not isinstance(address.base, Reg | Symbol):
            return
        base, offset = address.base.name, address.offset + (address.base.offset if isinstance(address.base, Symbol) else 0)
        seen = self.wide.setdefault(base, set())
        if (offset, i.modifiers) in seen:
            found[index] = Joined(0)
        seen.add((offset, i.modifiers))

    def add(self, i: Instruction, index: int, words: int, found: dict[int, Joined]) -> None:
        address = _address(i)
        assert address is not None and isinstance(address.base, Reg | Symbol)
        offset = address.offset + (address.base.offset if isinstance(address.base, Symbol) else 0)
        place = self.places.get(address.base.name)
        base, offset = (address.base.name, offset) if place is None else (STATIC, place + offset)
        self.load = i.opcode == "ld"
        members = self.by_base.setdefault(base, [])
        if self.load and any(start <= offset and offset + 4 * words <= start + 4 * wide for start, wide, _ in members):
            found[index] = Joined(0)  # loaded already
            return
        members.append((offset, words, index))

    def close(self, known: dict[str, int], found: dict[int, Joined]) -> None:
        for name in [*self.by_base, *self.wide]:
            self.close_base(name, known, found)

    def close_base(self, name: str, known: dict[str, int], found: dict[int, Joined]) -> None:
        self.wide.pop(name, None)
        members = self.by_base.pop(name, None)
        if not members or len(members) < 2:
            return
        alignment = known.get(name, 1)
        if alignment < 8:
            return
        windows: dict[int, list[tuple[int, int, int]]] = {}
        for offset, words, index in members:
            windows.setdefault(offset // alignment, []).append((offset, words, index))
        for window, inside in windows.items():
            self._join(window * alignment, alignment, inside, found)

    def _join(self, start: int, alignment: int, inside: list[tuple[int, int, int]], found: dict[int, Joined]) -> None:
        covered = {offset + 4 * w for offset, words, _ in inside for w in range(words)}
        if alignment == 16 and len(covered) >= (3 if self.load else 4):
            _mark(start, 16, inside, found)
            return
        for pair in (start, start + 8)[: alignment // 8]:
            here = [m for m in inside if pair <= m[0] < pair + 8]
            if len(here) > 1 and {pair, pair + 4} <= covered:
                _mark(pair, 8, here, found)


def _mark(start: int, size: int, members: list[tuple[int, int, int]], found: dict[int, Joined]) -> None:
    """The first of the members counts as the joined access, the others as nothing."""
    first = min(members, key=lambda m: m[2])
    for member in members:
        found[member[2]] = Joined(0)
    found[first[2]] = Joined(size, first[0] - start)
