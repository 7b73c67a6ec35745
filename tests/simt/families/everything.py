"""All the tables in one list."""

from __future__ import annotations

from . import (
    async_copy,
    atomics,
    barriers,
    bulk,
    clusters,
    control,
    conversion,
    floating,
    integer,
    libraries,
    mbarrier,
    memory,
    narrow,
    output,
    simd,
    sixteen,
    tensor,
    tma,
    warp,
    wgmma,
)  # fmt: skip
from .case import Case

FAMILIES = (
    integer, simd, floating, conversion, sixteen, memory, atomics, warp, control, barriers, output, libraries, tensor, narrow, async_copy, wgmma, clusters,
    mbarrier, bulk, tma,
)  # fmt: skip
CASES: list[Case] = [case for family in FAMILIES for case in family.CASES]
