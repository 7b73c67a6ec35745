"""How lanes meet at warp-wide instructions: at a shuffle those that the member mask names, at a wgmma the four warps of a warpgroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .checks import waiting
from .group import Group
from .values import Value, full, ndarray, u32

if TYPE_CHECKING:
    from .batch import Batch


def member_mask(g: Group) -> Value:
    """The member mask of the warp-wide instruction at which the group stands: an int, or an array."""
    mask = g.code.mask(g.pc)
    return mask if mask.__class__ is int else full(mask(g))


def _complete(g: Group, threads: int) -> bool:
    """Whether a regular group is made of whole runs of so many threads."""
    got = g._cache.get(("complete", threads))
    if got is None:
        first = g.rows[::threads]
        fits = g.n % threads == 0 and not (first % threads).any()
        got = g._cache["complete", threads] = bool(fits and (g.rows.reshape(-1, threads) == first[:, None] + np.arange(threads)).all())
    return got


def together(batch: Batch, g: Group) -> bool:
    """Whether all lanes that the member mask names are here; if not, the group waits."""
    mask = member_mask(g)
    if mask.__class__ is int and mask == 0xFFFFFFFF and (g.whole or (g.cols is None and _complete(g, 128 if waiting.warpgroup_wide(g) else 32))):
        g.waits = ""
        return True
    for other in [x for x in batch.groups if x is not g and x.waits == "" and batch.only_returns(x)]:
        batch.leave(other)  # nothing keeps them: they don't count as missing
    missing, outside = missing_lanes(batch, g, mask)
    if outside is not None and batch.machine.check:
        waiting.outside_mask(batch.machine.faults, g, outside)
    if missing is None or g.waits == "forced":
        g.waits = ""
        return True
    g.waits = "warp"
    return False


def missing_lanes(batch: Batch, g: Group, mask: Value) -> tuple[ndarray | None, ndarray | None]:
    """(threads × blocks named by the mask, alive, not here; None if there are none), (lanes here that the mask doesn't name, or None)."""
    named_here = names_itself(g, mask)
    outside = None if named_here.all() else ~named_here
    here = np.zeros((batch.W * 32, batch.B), bool)
    named = np.zeros((batch.W * 32, batch.B), bool)
    bits = np.arange(32, dtype=u32)
    if g.cols is None:
        here[g.rows] = True
        per_warp, first = np.unique(g.rows >> 5, return_index=True)
        m = mask[first] if mask.__class__ is ndarray and mask.shape[0] > 1 else mask
        wanted = (np.asarray(m).reshape(-1, 1, m.shape[1] if m.__class__ is ndarray else 1) >> bits[None, :, None] & u32(1)) != 0
        wanted = np.broadcast_to(wanted, (len(per_warp), 32, batch.B))
        named.reshape(batch.W, 32, batch.B)[per_warp] = wanted
    else:
        here[g.rows, g.cols] = True
        m = np.broadcast_to(mask[:, 0] if mask.__class__ is ndarray else u32(mask), (g.n,))
        table = named.reshape(batch.W, 32, batch.B)
        table[g.rows >> 5, :, g.cols] = (m[:, None] >> bits & u32(1)) != 0
    if waiting.warpgroup_wide(g):
        groups = np.zeros((-(-batch.W // 4), 128, batch.B), bool)
        groups.reshape(-1, batch.B)[: batch.W * 32] = named
        named = np.repeat(groups.any(axis=1), 128, axis=0)[: batch.W * 32]
    missing = named & ~here
    missing[batch.T :] = False  # lanes that don't exist
    missing[: batch.T] &= ~batch.exited
    return (missing if missing.any() else None), outside


def names_itself(g: Group, mask: Value) -> ndarray:
    """In which lanes of the group the mask has the lane's own bit."""
    bits = mask if mask.__class__ is ndarray else u32(mask)
    return np.broadcast_to((bits >> g.lanes.astype(u32) & u32(1)) != 0, g.shape)
