"""Plain loads that only guess: their value is compared by an atomicCAS, which repeats the loop if the guess was wrong.

    int old = *address, assumed;
    do { assumed = old; old = atomicCAS(address, assumed, …); } while (assumed != old);

Right by construction (CUDA C++ Programming Guide, "Atomic Functions"), though the load races by the letter. Such loads count as atomic.
"""

from __future__ import annotations

from .blocks import reads, writes
from .ptx import Instruction, Reg

_COPIES = {"mov", "selp", "cvt", "and", "shr", "shl", "or", "prmt", "bfe"}


def guessing_loads(body: list[Instruction]) -> frozenset[int]:
    """Indices of plain global loads whose value reaches the comparison of an `atom.cas` through copies."""
    wanted = {o.name for i in body if i.opcode == "atom" and "cas" in i.modifiers for o in i.operands[2:3] if isinstance(o, Reg)}
    if not wanted:
        return frozenset()
    grew = True
    while grew:
        grew = False
        for i in body:
            if i.opcode in _COPIES and wanted.intersection(writes(i)):
                more = set(reads(i)) - wanted
                if more:
                    wanted |= more
                    grew = True
    return frozenset(k for k, i in enumerate(body) if i.opcode == "ld" and wanted.intersection(writes(i)))
