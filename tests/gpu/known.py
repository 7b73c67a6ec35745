"""Where the simulator's counters differ from a GPU's: which counters of which kernels, and why. A line goes when its kernels are equal.

A name is a kernel's own, or with a `*` at its end the first part of several. Every other counter of a listed kernel must be equal.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    counters: frozenset[str]
    reason: str


SHARED = frozenset({"shared_load_requests", "shared_load_wavefronts"})
GLOBAL = frozenset({"global_load_requests", "global_load_sectors"})
# Reasons are read off the machine code: its instructions, counted along the way of the case, make the number that was read.
AGAIN = "ptxas unrolls the PTX's loop of four steps to sixteen, eight and four: lanes with fewer steps than others load together in other groups"
KNOWN_BY_NAME = {
    "course.ch04c_all_distances: one*": Known(
        SHARED, "one 128-bit load for the one, two or three loads after a loop of four steps, before it is known how many"
    ),
    "course.ch06d_tolerance: 70 rows": Known(frozenset({"global_load_sectors"}), AGAIN),
    "course.ch08b_edge_block*": Known(
        SHARED, "a loop of eight steps that the PTX still has is unrolled, neighbours joined: 22 loads a warp and tile instead of 40"
    ),
    "course.ch10_unstored_scores*": Known(
        GLOBAL, "a query's 64 numbers are loaded once, before the loop over the keys: 64 (keys + 1) loads a pass instead of 128 keys"
    ),
    "course.ch12e_partial_load*": Known(
        SHARED, "loops over the eight scores are unrolled, and the last one, stored just before, isn't loaded: 75 a tile instead of 76"
    ),
    "course.ch14_flash_varlen*": Known(
        GLOBAL, "where keys begin and end is loaded after the blocks that have no queries have left: 4 loads less for each of them"
    ),
    "course.ch14c_packed_lengths*": Known(GLOBAL, "as in ch14_flash_varlen"),
    "course.ch16_flash_backward*": Known(
        SHARED, "two steps of the last loop run before it, and join their 8 pairs of neighbours: 8 loads less a warp and tile"
    ),
    "course.ch16d_add_to_dq*": Known(SHARED, "the last loop moves into the condition behind it: warps without a query leave its 80 loads out"),
    "course.ch18a_half_sum: 1000 numbers from 0 to 1": Known(frozenset({"global_load_requests"}), f"{AGAIN}: 94 loads a warp instead of 70"),
    "course.ch22c_causal_slices*": Known(
        frozenset({"tensor_operations"}),
        "the last two mma of a tile's scores have a predicate instead of a branch: eight are counted in a warp that makes three slices",
    ),
    "course.ch27b_late_release: seven steps, ragged": Known(
        frozenset({"dram_read_bytes"}), "the launch itself reads 5.4 to 8.4 KB (five readings, most of them 7.4): the comparison allows 8 KB for it"
    ),
}


def matches(name: str, listed: str) -> bool:
    return name.startswith(listed[:-1]) if listed.endswith("*") else name == listed


def known(name: str) -> Known | None:
    """What of this kernel's counters may differ, or None where all must be equal."""
    return next((what for listed, what in KNOWN_BY_NAME.items() if matches(name, listed)), None)


def parted(name: str, found: list[str]) -> tuple[list[str], list[str]]:
    """Differences (each begins with the counter's name) as (known ones, others)."""
    what = known(name)
    allowed = what.counters if what else frozenset()
    return [d for d in found if d.split()[0] in allowed], [d for d in found if d.split()[0] not in allowed]
