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
    named_here = names_itself(g, mask)
    if batch.machine.check and not named_here.all():
        waiting.outside_mask(batch.machine.faults, g, ~named_here)
    if g.waits in ("forced", "freed") or not lacking(batch, g).any():
        if batch.met_ahead:
            waiting.met_ahead(g, left=True)
        g.waits = ""
        return True
    g.waits = "warp"
    return False


def lacking(batch: Batch, g: Group, left: bool = False) -> ndarray:
    """Which lanes of the group, (n, B) or (n, 1), must wait: somebody whom their own mask names is alive and isn't here. `left`: or has left."""
    absent = np.zeros((batch.W * 32, batch.B), bool)
    absent[: batch.T] = True if left else ~batch.exited
    absent[g.rows if g.cols is None else (g.rows, g.cols)] = False
    packed = np.packbits(absent.reshape(batch.W, 32, batch.B), axis=1, bitorder="little")
    bits = np.ascontiguousarray(packed.transpose(0, 2, 1)).view(np.dtype("<u4"))[..., 0]  # of each warp, in each block
    if waiting.warpgroup_wide(g):
        warpgroups = np.zeros((-(-batch.W // 4), 4, batch.B), bool)
        warpgroups.reshape(-1, batch.B)[: batch.W] = bits != 0
        lack = np.logical_or.reduce(warpgroups, axis=1)
        return lack[g.rows >> 7] if g.cols is None else lack[g.rows >> 7, g.cols][:, None]
    away = bits[g.rows >> 5] if g.cols is None else bits[g.rows >> 5, g.cols][:, None]
    return np.broadcast_to((away & member_mask(g)) != 0, g.shape) | _otherwise(batch, g)


def _otherwise(batch: Batch, g: Group) -> ndarray | bool:
    """Which lanes name one that is here, but with another mask: who meets gives "the same membermask" (PTX ISA 9.7.9.6, 9.7.13), so they wait, too."""
    mask = member_mask(g)
    if mask.__class__ is int or mask.shape[0] == 1:
        return False
    known = g._cache.get("otherwise")
    if known is not None and known[0] is mask:
        return known[1]
    masks, here = np.zeros((batch.W * 32, batch.B), u32), np.zeros((batch.W * 32, batch.B), bool)
    at = g.rows if g.cols is None else (g.rows, g.cols)
    masks[at], here[at] = mask if g.cols is None else mask[:, 0], True
    by_warp, present = masks.reshape(batch.W, 32, batch.B), here.reshape(batch.W, 32, batch.B)
    found: ndarray | bool = False
    if ((by_warp != by_warp.max(axis=1, keepdims=True)) & present).any() and not _parts(by_warp, present):
        unlike = np.zeros(by_warp.shape, bool)
        for lane in range(32):
            unlike |= (by_warp >> u32(lane) & u32(1) != 0) & present[:, lane : lane + 1] & (by_warp != by_warp[:, lane : lane + 1])
        table = (unlike & present).reshape(-1, batch.B)
        found = table[g.rows] if g.cols is None else table[g.rows, g.cols][:, None]
        if table.any():
            waiting.unlike_masks(batch.machine.faults, g, by_warp, present, unlike & present)
    g._cache["otherwise"] = (mask, found)
    return found


def _parts(masks: ndarray, present: ndarray) -> bool:
    """Whether the masks of all lanes that are here, (warps, 32, blocks), make parts of which each lane names its own: tiles of a warp side by side.

    If so, the lanes of a part share their lowest lane, its mask is theirs, and they are all that it names.
    """
    bit = u32(1) << np.arange(32, dtype=u32)[None, :, None]
    named = masks & np.where(present, bit, u32(0)).sum(axis=1, dtype=u32, keepdims=True)
    lowest = np.minimum(np.bitwise_count((named & (~named + u32(1))) - u32(1)), 31).astype(np.intp)
    if (present & (np.take_along_axis(masks, lowest, axis=1) != masks)).any():
        return False
    warps, _, blocks = masks.shape
    place = (np.arange(warps)[:, None, None] * 32 + lowest) * blocks + np.arange(blocks)
    together = np.bincount(place.ravel(), weights=np.where(present, bit, u32(0)).ravel(), minlength=masks.size)
    return not (present & (together[place] != named)).any()


def parted(batch: Batch, g: Group, lanes: ndarray) -> tuple[Group, Group]:
    """The group as two: `lanes`, (n, B) or (n, 1), which must be some of its lanes but not all, and the others."""
    if (lanes != lanes[:, :1]).any():
        g_ = g.flattened()
        lanes = lanes.reshape(-1, 1)
    else:
        g_ = g
    part, rest = g_.taken(np.flatnonzero(lanes[:, 0])), g_.taken(np.flatnonzero(~lanes[:, 0]))
    batch.replace(g, part, rest)
    return part, rest


def freed(batch: Batch, g: Group) -> bool:
    """Let lanes of a waiting group go on: all, with a report, if who was missing has left meanwhile; else those that lack nobody (other warps do)."""
    if not lacking(batch, g).any():
        waiting.missing_lanes(batch.machine.faults, g)
        g.waits = "forced"
        return True
    lacks = lacking(batch, g, left=True)
    if lacks.all():
        return False
    part, rest = parted(batch, g, ~lacks)
    part.waits, rest.waits = "freed", "warp"  # they don't merge again before the part has gone on
    return True


def names_itself(g: Group, mask: Value) -> ndarray:
    """In which lanes of the group the mask has the lane's own bit."""
    bits = mask if mask.__class__ is ndarray else u32(mask)
    return np.broadcast_to((bits >> g.lanes.astype(u32) & u32(1)) != 0, g.shape)
