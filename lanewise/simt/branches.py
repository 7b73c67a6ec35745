"""Where lanes take different paths: a group parts, or its batch splits where whole blocks do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import gone_past
from .values import ndarray

if TYPE_CHECKING:
    from .batch import Batch
    from .group import Group

PATTERNS = 3  # branches that split a batch's blocks into more patterns than this make an irregular group instead


def branch(g: Group, p: ndarray, target: int, other: int) -> int:
    """Lanes with p go to block `target`, the rest to `other`. Returns the block if all agree, −1 if the group has parted."""
    if p.size == 1:
        return target if p.flat[0] else other
    if p.shape[0] > 1 and (p.shape[1] == 1 or g.cols is not None):
        return _part(g, p[:, 0], target, other)
    if p.all():
        return target
    if not p.any():
        return other
    if _apart_in_cluster(g.batch, p):
        return _part_lanes(g, p, target, other)
    if p.shape[0] == 1:
        return _part_columns(g, p[0], target, other)
    every, some = p.all(axis=0), p.any(axis=0)
    if (every == some).all():
        return _part_columns(g, every, target, other)
    packed = np.packbits(p, axis=0)
    patterns = np.unique(packed, axis=1)
    if patterns.shape[1] == 1:
        return _part(g, p[:, 0], target, other)
    if patterns.shape[1] <= PATTERNS:
        first = (packed == packed[:, :1]).all(axis=0)
        mine, theirs = _split_at(g, first)
        _resolve(mine, p[:, first], target, other)
        _resolve(theirs, p[:, ~first], target, other)
        return -1
    return _part_lanes(g, p, target, other)


def _part_lanes(g: Group, p: ndarray, target: int, other: int) -> int:
    """Lane by lane, each in its own block."""
    flat = g.flattened()
    g.batch.replace(g, flat)
    return _part(flat, np.broadcast_to(p, g.shape).reshape(-1), target, other)


def _part(g: Group, mask: ndarray, target: int, other: int) -> int:
    yes = np.flatnonzero(mask)
    if len(yes) == len(mask):
        return target
    if not len(yes):
        return other
    g.batch.machine.diverged(g)
    if g.batch.machine.check:
        gone_past.parted(g.batch, g, mask, target, other)
    g.came_from = g.pc
    g.batch.replace(g, g.taken(yes, target), g.taken(np.flatnonzero(~mask), other))
    return -1


def _part_columns(g: Group, mask: Any, target: int, other: int) -> int:
    """Whole blocks take different paths: the batch splits."""
    g.came_from = g.pc
    mine, theirs = _split_at(g, mask)
    mine.pc, theirs.pc = target, other
    return -1


def _split_at(g: Group, keep: ndarray) -> tuple[Group, Group]:
    """Split the batch of `g`, a regular group; what has become of it in this batch and in the new one."""
    batch = g.batch
    position = batch.groups.index(g)
    before = batch.groups[:position]
    lost = [sum(1 for x in before if x.cols is not None and not side[x.cols].any()) for side in (keep, ~keep)]
    rest = batch.split(keep)
    return batch.groups[position - lost[0]], rest.groups[position - lost[1]]


def _resolve(g: Group, p: ndarray, target: int, other: int) -> None:
    following = branch(g, p, target, other)
    if following >= 0:
        g.pc = following


def _apart_in_cluster(batch: Batch, p: ndarray) -> bool:
    """Whether a predicate differs between the blocks of a cluster: then the batch can't be split by it."""
    size = batch.machine.cluster
    if size == 1 or p.shape[1] == 1:
        return False
    by_cluster = p.reshape(p.shape[0], -1, size)
    return bool((by_cluster != by_cluster[:, :, :1]).any())
