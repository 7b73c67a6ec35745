"""Where the simulator's counters differ from a GPU's: which counters of which kernels, and why. A line goes when its kernels are equal.

A name is a kernel's own, or with a `*` at its end the first part of several. Every other counter of a listed kernel must be equal.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    counters: frozenset[str]
    reason: str


SECTORS = frozenset({"global_load_sectors"})
SHARED = frozenset({"shared_load_requests", "shared_load_wavefronts"})
GLOBAL = frozenset({"global_load_requests", "global_load_sectors"})
REMAINDER = Known(SHARED, "ptxas makes one 128-bit load of the three loads after a loop unrolled by four, across the branches between them")
UNROLLED = Known(SHARED, "ptxas unrolls a loop of eight steps that the PTX still has, and joins loads of neighbouring steps")
LOADED_ONCE = "the GPU loads less often than the PTX says: ptxas keeps a value; read off the counts, not off the machine code"
NOISE = "a few of many thousands, in one of two readings: the counter isn't exact to the last"
KNOWN_BY_NAME = {
    "attention.flash": Known(frozenset({"shared_load_wavefronts"}), NOISE),
    "course.ch04c_all_distances: one*": REMAINDER,
    "course.ch06d_tolerance: 70 rows": Known(SECTORS, NOISE),
    "course.ch08b_edge_block*": UNROLLED,
    "course.ch10_unstored_scores*": Known(GLOBAL, LOADED_ONCE),
    "course.ch12_flash_registers*": Known(frozenset({"shared_load_wavefronts", "shared_store_wavefronts"}), NOISE),
    "course.ch12e_partial_load*": Known(SHARED, LOADED_ONCE),
    "course.ch14_flash_varlen*": Known(GLOBAL, LOADED_ONCE),
    "course.ch14c_packed_lengths*": Known(GLOBAL, LOADED_ONCE),
    "course.ch16_flash_backward*": Known(SHARED, LOADED_ONCE),
    "course.ch16d_add_to_dq*": Known(SHARED, LOADED_ONCE),
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
