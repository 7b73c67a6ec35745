"""Global accesses that ptxas leaves out: a load of what was loaded before, a store that the next one overwrites.

Read off the machine code of our NVRTC: between two equal loads nothing may store to global memory, be atomic there or order memory; between two equal
stores, of one basic block, there may be no other access to global memory. The PTX still has them where the compiler before ptxas takes inline assembly
for a possible change of memory.
"""

from __future__ import annotations

from .blocks import Graph, writes
from .joined import chains, orders
from .ptx import Address, Instruction, Reg, Symbol

Key = tuple[str, int, int, tuple[str, ...]]
_STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}


def left_out(graph: Graph) -> frozenset[int]:
    """Indices of the loads and stores that aren't made."""
    found: set[int] = set()
    for chain in chains(graph):
        loaded: set[Key] = set()
        stored: tuple[Key, int] | None = None  # the last store, where nothing has come since
        for block, passed in chain:
            if passed:
                stored = None
            for i in passed:
                _forget(i, loaded)
            for k in range(block.start, block.end):
                i = graph.body[k]
                key = _key(i)
                if key in loaded and i.opcode == "ld":
                    found.add(k)
                if stored and stored[0] == key and i.opcode == "st":
                    found.add(stored[1])
                _forget(i, loaded)
                if i.opcode == "ld" and key and key[0] not in writes(i):
                    loaded.add(key)
                if i.opcode == "st" and key:
                    stored = (key, k)
                elif stored and (_reaches(i) or stored[0][0] in writes(i)):
                    stored = None
    return frozenset(found)


def _key(i: Instruction) -> Key | None:
    """(base register or variable, the rest of what a plain access of all lanes is); None for anything else."""
    if i.opcode not in ("ld", "st") or "global" not in i.modifiers or i.predicate is not None:
        return None
    if not _STRONG.isdisjoint(i.modifiers):
        return None
    address = i.operands[i.opcode == "ld"]
    if not isinstance(address, Address) or not isinstance(address.base, Reg | Symbol):
        return None
    return address.base.name, address.base.offset if isinstance(address.base, Symbol) else 0, address.offset, i.modifiers


def _reaches(i: Instruction) -> bool:
    """May it read or write global memory, or order what does?"""
    if i.opcode in ("ld", "st"):
        return "global" in i.modifiers or not any(m.split("::")[0] in ("shared", "local", "param", "const") for m in i.modifiers)
    if i.opcode in ("atom", "red"):
        return not any(m.startswith("shared") for m in i.modifiers)
    return i.opcode in ("cp", "wmma", "ldu") or orders(i)


def _forget(i: Instruction, loaded: set[Key]) -> None:
    """Of what was loaded forget what `i` may change, and what has another address now."""
    if (i.opcode != "ld" or "acquire" in i.modifiers) and _reaches(i):
        loaded.clear()
    for name in writes(i):
        loaded -= {key for key in loaded if key[0] == name}
