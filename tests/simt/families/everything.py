"""All the tables in one list."""

from __future__ import annotations

from . import async_copy, atomics, barriers, control, conversion, floating, integer, libraries, memory, output, tensor, warp, wgmma
from .case import Case

CASES: list[Case] = [
    case for family in (integer, floating, conversion, memory, atomics, warp, control, barriers, output, libraries, tensor, async_copy, wgmma) for case in family.CASES
]
