"""All kernels whose counters are compared."""

from __future__ import annotations

from families.case import Case

from . import access, attention, banks, clusters, compute, copies, joined, pieces, products, tensor, tma

CASES: list[Case] = [case for part in (access, banks, compute, attention, tensor, tma, products, copies, pieces, clusters, joined) for case in part.CASES]
