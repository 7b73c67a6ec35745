"""All the tables in one list."""

from __future__ import annotations

from . import async_copy, atomics, barriers, clusters, control, conversion, floating, integer, libraries, memory, output, tensor, warp, wgmma
from .case import Case

FAMILIES = (
    integer, floating, conversion, memory, atomics, warp, control, barriers, output, libraries, tensor, async_copy, wgmma, clusters,
)  # fmt: skip
CASES: list[Case] = [case for family in FAMILIES for case in family.CASES]
