"""barrier.cluster, mapa, getctarank, st.async, red.async: blocks of a cluster together (PTX ISA 9.7.13.3, 9.7.9.23, 9.7.9.24, 9.7.9.12)."""

from __future__ import annotations

import numpy as np

from ..checks import cluster as checks
from ..clusters import RANK_SHIFT, arrive, wait
from ..codegen import Emitter, width_of
from ..memory import RANGE, SHARED_WINDOW
from ..ptx import Instruction
from ..values import full, i64, ndarray, u32, u64


def map_to_rank(g, iid: int, address, rank, wide: bool):
    """The address of the same place in the block `rank` of the cluster."""
    size = g.batch.machine.cluster
    ranks = np.asarray(full(rank), dtype=i64)
    bad = ranks >= size
    if bad.any():
        checks.no_such_rank(g, iid, int(ranks[bad].flat[0]))
        ranks = np.where(bad, 0, ranks)
    plain, base = _inside(address)
    inner = plain & u64(((1 << 64) - 1) ^ 0xFF << RANK_SHIFT)
    out = ((inner | (ranks + 1).astype(u64) << u64(RANK_SHIFT)) + base).astype(u64 if wide else u32)
    if out.ndim == 0:
        return int(out) if plain.ndim == 0 and address.__class__ is int else out.reshape(1, 1)
    return out


def _inside(address) -> tuple[ndarray, ndarray]:
    """An address as one of shared memory, and what a generic one has on top of that."""
    plain = np.asarray(full(address), dtype=u64)
    base = np.where(plain >> u64(RANGE) == u64(SHARED_WINDOW >> RANGE), u64(SHARED_WINDOW), u64(0))
    return plain - base, base


def rank_of(g, address):
    """The rank of the block whose shared memory an address lies in."""
    rank = _inside(address)[0] >> u64(RANK_SHIFT) & u64(0xFF)
    own = g.special("cluster_ctarank")
    out = np.where(rank > 0, rank - u64(1), own).astype(u32)
    return int(out) if out.ndim == 0 else out


def emit_mapa(e: Emitter, i: Instruction) -> None:
    d, a, rank = i.operands
    type = i.modifiers[-1]
    e.define(d, type, f"MAPA(g,{e.site('mapa')},{e.use(a, type)},{e.use(rank, 'u32')},{width_of(type) == 64})")


def emit_getctarank(e: Emitter, i: Instruction) -> None:
    d, a = i.operands
    e.define(d, "u32", f"CTARANK(g,{e.use(a, i.modifiers[-1])})")


def emit_barrier_cluster(e: Emitter, i: Instruction) -> bool:
    if "arrive" in i.modifiers:
        e.line(f"CLUSTERARRIVE(g);return {e.block.index + 1}")
    else:
        e.line(f"return CLUSTERWAIT(g,{e.block.index + 1})")
    return True


EMIT = {"mapa": emit_mapa, "getctarank": emit_getctarank, "barrier": emit_barrier_cluster}
NAMES = {"MAPA": map_to_rank, "CTARANK": rank_of, "CLUSTERARRIVE": arrive, "CLUSTERWAIT": wait}
