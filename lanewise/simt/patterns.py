"""How many sectors and wavefronts one access of a warp costs: the rules that equal Nsight Compute's counters.

Global memory: the number of distinct 32-byte sectors of each warp.
cp.async.cg, which passes by the L1: the number of distinct pairs of 32 bytes of shared memory and 128 bytes of global memory that go there.
Shared memory: 32 banks of 4 bytes. Distinct words of one bank take one pass each, lanes that want the same word share it. 8-byte (16-byte) accesses
are done by half (quarter) warps; two halves of a warp (two quarters of a half) of a load go together iff every lane has the address of its
neighbour lane^1, or every lane that of lane^2.
"""

from __future__ import annotations

import numpy as np

from .values import ndarray

SLOTS = 1 << 13  # pieces of 32 bytes of shared memory: more than a block can have


def sectors_per_warp(addresses: ndarray, warps: ndarray) -> int:
    """Distinct (warp, sector) pairs; both arrays 1-D int64. Accesses are aligned to their size, so none spans two sectors."""
    sectors = addresses >> 5
    low = int(sectors.min())
    span = int(sectors.max()) - low + 1
    if span < 1 << 40:
        return len(np.unique(warps * span + (sectors - low)))
    return len(np.unique(np.stack([warps, sectors]), axis=1).T)


def fetches_per_warp(sources: ndarray, targets: ndarray, warps: ndarray) -> int:
    """Distinct (warp, 32 bytes of shared memory, line of 128 bytes of global memory): what cp.async.cg asks for, as read on an H200. 1-D int64."""
    lines, low = sources >> 7, int(sources.min()) >> 7
    span = (int(sources.max()) >> 7) - low + 1
    return len(np.unique((warps * SLOTS + (targets >> 5)) * span + (lines - low)))


def sectors_of_full_warps(addresses: ndarray) -> int:
    """The same for addresses of shape (warps, 32, B), every lane active."""
    sectors = addresses >> 5
    steps = sectors[:, 1:] - sectors[:, :-1]
    if steps.min() < 0:
        sectors = np.sort(sectors, axis=1)
        steps = sectors[:, 1:] - sectors[:, :-1]
    return sectors.shape[0] * sectors.shape[2] + int(np.count_nonzero(steps))


def by_lane(addresses: ndarray, warps: ndarray, lanes: ndarray) -> ndarray:
    """1-D addresses as rows of 32, one row a warp; −1 where a lane takes no part."""
    if len(addresses) % 32 == 0 and (lanes.reshape(-1, 32) == np.arange(32)).all():
        runs = warps.reshape(-1, 32)
        if (runs == runs[:, :1]).all():  # lanes 0 … 31 in order may still be of different blocks
            return addresses.reshape(-1, 32)
    _, row = np.unique(warps, return_inverse=True)
    table = np.full((int(row.max()) + 1, 32), -1, np.int64)
    table[row, lanes] = addresses
    return table


def _passes(words: ndarray) -> ndarray:
    """For each row of words (−1: none): the largest number of distinct words in one bank; 0 for an empty row."""
    words = np.sort(words, axis=1)
    first = np.ones(words.shape, bool)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    first &= words >= 0
    rows = np.nonzero(first)[0]
    counts = np.bincount(rows * 32 + (words[first] & 31), minlength=len(words) * 32)
    return counts.reshape(-1, 32).max(axis=1)


def wavefronts(table: ndarray, size: int, load: bool) -> int:
    """Wavefronts of the accesses `table` (warps × 32 byte addresses, −1: inactive) of `size` bytes a lane."""
    live = table >= 0
    words = np.where(live, table >> 2, -1)
    if size <= 4:
        return int(_passes(words).sum())
    per = size // 4  # words a lane
    group = 32 // per  # lanes of a half or quarter warp
    wide = np.where(live[:, :, None], words[:, :, None] + np.arange(per), -1)
    parts = _passes(wide.reshape(-1, group * per)).reshape(len(table), per)
    if not load:
        return int(parts.sum())
    # pairs of parts that may go together: the halves of a warp, the quarters of each half
    pairs = wide.reshape(-1, 2 * group * per)
    together = _passes(pairs).reshape(len(table), per // 2)
    merged = _mergeable(table)[:, None]
    separate = parts.reshape(len(table), per // 2, 2).sum(axis=2)
    return int(np.where(merged, together, separate).sum())


def _mergeable(table: ndarray) -> ndarray:
    """For each warp: does every lane share its address with lane^1, or every lane with lane^2? Inactive lanes agree with any."""
    order = np.arange(32)
    answer = np.zeros(len(table), bool)
    for flip in (1, 2):
        other = table[:, order ^ flip]
        answer |= ((table == other) | (table < 0) | (other < 0)).all(axis=1)
    return answer
