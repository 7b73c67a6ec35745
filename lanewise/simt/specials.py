"""Special registers (PTX ISA 10): who a thread is and how large its launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import clusters
from .values import Value, ndarray, u32, u64

if TYPE_CHECKING:
    from .group import Group
    from .machine import Machine


def special(machine: Machine, g: Group, name: str) -> Value:
    """The value of a special register in the lanes of a group; 0 for those that say nothing about a simulated launch."""
    base, _, axis = name.partition(".")
    k = "xyz".find(axis) if axis else -1
    if base == "tid":
        return _tid(machine, g, k)
    if base == "ntid":
        return machine.block[k]
    if base == "nctaid":
        return machine.grid[k]
    if base in clusters.NAMES:
        return clusters.special(machine, g, base, k)
    if base == "ctaid":
        return _ctaid(machine, g, k)
    if base == "laneid":
        return _scalar((g.rows & 31).astype(u32)[:, None])
    if base == "warpid":
        return _scalar((g.rows >> 5).astype(u32)[:, None])
    if base.startswith("lanemask_"):
        lane = (g.rows & 31).astype(u64)[:, None]
        one = u64(1) << lane
        table = {"eq": one, "lt": one - u64(1), "le": 2 * one - u64(1), "gt": ~(2 * one - u64(1)), "ge": ~(one - u64(1))}
        return _scalar((table[base[9:]] & u64(0xFFFFFFFF)).astype(u32))
    fixed = {
        "nwarpid": machine.W, "smid": 0, "nsmid": 132, "gridid": 1, "dynamic_smem_size": machine.shared_bytes,
        "total_smem_size": machine.program.static_shared + machine.shared_bytes, 
    }  # fmt: skip
    return fixed.get(base, 0)


def _tid(machine: Machine, g: Group, k: int) -> Value:
    bx, by, _ = machine.block
    rows = g.rows
    if machine.block[k] == 1:
        return 0
    value = rows % bx if k == 0 else rows // bx % by if k == 1 else rows // (bx * by)
    return _scalar(value.astype(u32)[:, None])


def _ctaid(machine: Machine, g: Group, k: int) -> Value:
    if machine.grid[k] == 1:
        return 0
    gx, gy, _ = machine.grid
    ids = g.batch.ids if g.cols is None else g.batch.ids[g.cols]
    value = (ids % gx if k == 0 else ids // gx % gy if k == 1 else ids // (gx * gy)).astype(u32)
    if (value == value[0]).all():
        return int(value[0])
    return value[None, :] if g.cols is None else value[:, None]


def _scalar(a: ndarray) -> Value:
    """A (1, 1) array as an int."""
    return int(a[0, 0]) if a.size == 1 else a
