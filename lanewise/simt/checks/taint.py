"""Values from lanes that aren't there: followed through the registers until they are used."""

from __future__ import annotations


def tainted_run(machine, code, pc: int):
    return machine.compile(code, pc)
