"""Launches that a GPU refuses to start, told before they are tried.

Plain numbers in, findings out: the same check stands in front of a real GPU. Source: CUDA C++ Programming Guide, "Compute
Capabilities", table of technical specifications; `gpus.py` holds its figures.
"""

from __future__ import annotations

import operator
import re
from typing import Any

from .finding import Finding
from .gpus import LIMITS, blocks_by_registers

DEFAULT_SHARED = 48 * 1024  # bytes a block may have without opting in
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_CLUSTER = 8  # blocks, on every GPU that has clusters


def dim3(value: Any) -> tuple[int, int, int]:
    """A grid or block, given as an int or up to three ints, as (x, y, z). Raises TypeError for anything else."""
    parts = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(parts) <= 3 or any(isinstance(part, bool) for part in parts):
        raise TypeError
    numbers = [operator.index(part) for part in parts]
    return (numbers + [1, 1])[0], (numbers + [1, 1])[1], (numbers + [1, 1])[2]


def limits(
    grid: Any,
    block: Any,
    static_shared: int = 0,
    dynamic_shared: Any = 0,
    max_dynamic: int | None = None,
    arch: str = "sm_90a",
    registers: int | None = None,
    max_threads: int | None = None,
    cluster: tuple[int, ...] | None = None,
) -> list[Finding]:
    """Findings of kind `launch-refused`, empty if the launch can start.

    `static_shared`, `dynamic_shared`: bytes a block; `max_dynamic`: `kernel.max_dynamic_shared_size_bytes`, or None if it
    was never set. `registers` a thread, if known (check only with more than 256 threads: below that they always fit).
    `max_threads`: what `__launch_bounds__` promises. `cluster`: blocks of a cluster on each axis, from `__cluster_dims__`.
    """
    found = [refusal for name, value in (("grid", grid), ("block", block)) if (refusal := _shape(name, value))]
    if found:
        return [_refused(text) for text in found]
    shape = dim3(block)
    threads = shape[0] * shape[1] * shape[2]
    if threads > MAX_THREADS:
        shown = "" if threads == shape[0] else f" ({' x '.join(map(str, shape))})"
        found.append(f"a block may have {MAX_THREADS} threads, not {threads}{shown}: use smaller blocks and more of them")
    elif registers is not None and blocks_by_registers(registers, threads) < 1:
        found.append(
            f"{threads} threads of {registers} registers each need more than the 65536 registers of an SM: "
            f"use smaller blocks, or __launch_bounds__({threads}) so that the compiler takes fewer"
        )
    elif max_threads is not None and threads > max_threads:
        found.append(f"the kernel promises at most {max_threads} threads in a block by __launch_bounds__, not {threads}: use smaller blocks or raise the bound")
    if cluster:
        found += _cluster(dim3(grid), dim3(cluster))
    found += _shared(static_shared, dynamic_shared, max_dynamic, arch)
    return [_refused(text) for text in found]


def _cluster(grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> list[str]:
    """What is wrong with clusters of this shape in a grid."""
    size = cluster[0] * cluster[1] * cluster[2]
    if size > MAX_CLUSTER:
        return [f"a cluster may have {MAX_CLUSTER} blocks, not {size}: make __cluster_dims__ smaller"]
    for axis, blocks, each in zip("xyz", grid, cluster, strict=True):
        if blocks % each:
            whole = -(-blocks // each) * each
            return [f"grid.{axis} is {blocks}, and must be a multiple of the {each} blocks that __cluster_dims__ joins: round it up to {whole}"]
    return []


def registers_matter(threads: int, declared: int) -> bool:
    """Whether it is worth asking ptxas for the registers before a launch of `threads` threads a block.

    `declared`: 32-bit registers that the PTX declares (64-bit ones count twice). ptxas seldom needs more than that and a few.
    """
    return blocks_by_registers(min(255, declared + 16), threads) < 1


def _shape(name: str, value: Any) -> str | None:
    """What is wrong with a grid or block."""
    try:
        shape = dim3(value)
    except TypeError:
        shown = f"({', '.join(map(str, value))})" if isinstance(value, tuple | list) else str(value)
        shown = shown if shown.isprintable() else repr(value)
        if any(isinstance(part, float) or type(part).__name__.startswith("float") for part in (value if isinstance(value, tuple | list) else (value,))):
            return f"{name} must be whole numbers, not {shown}: divide with // and round up, (n + threads - 1) // threads"
        return f"{name} must be an int or a tuple of 1 to 3 ints, not {shown if len(shown) <= 40 else type(value).__name__}"
    for axis, size, limit in zip("xyz", shape, MAX_GRID if name == "grid" else MAX_BLOCK, strict=True):
        if size < 1:
            reason = "nothing would run; round up, (n + threads - 1) // threads, and skip the launch when there is nothing to do"
            return f"{name}.{axis} is {size}: {reason if name == 'grid' else 'a block needs at least one thread on each axis'}"
        if size > limit and not (name == "block" and axis != "z"):
            advice = "put the long axis on x or y" if name == "block" else "put the long axis on x" if axis != "x" else "make each thread do more"
            return f"{name}.{axis} is {size}, and may be {limit} at most: {advice}"
    return None


def _shared(static: int, dynamic: Any, opted: int | None, arch: str) -> list[str]:
    try:
        wanted = operator.index(dynamic)
    except TypeError:
        return [f"shared_bytes must be a whole number of bytes, not {dynamic}"]
    if wanted < 0:
        return [f"shared_bytes is {wanted}, and can't be negative"]
    digits = re.search(r"\d+", arch)
    most = LIMITS[int(digits[0])].shared_per_block if digits and int(digits[0]) in LIMITS else None
    both = f"{wanted + static} bytes of shared memory ({static} static, {wanted} dynamic)" if static else f"{wanted} bytes of dynamic shared memory"
    if static > DEFAULT_SHARED:
        return [
            f"{static} bytes of static shared memory, and {DEFAULT_SHARED} are the most: declare the array extern __shared__ and pass its size at the launch"
        ]
    if most is not None and static + wanted > most:
        return [f"{both} in a block, and {arch} has {most}: use smaller tiles"]
    if wanted > (DEFAULT_SHARED - static if opted is None else opted):
        step = f"set kernel.max_dynamic_shared_size_bytes = {wanted} before the launch"
        return [f"{both} in a block, more than the {DEFAULT_SHARED if opted is None else opted} allowed so far: {step}"]
    return []


def _refused(text: str) -> Finding:
    return Finding("launch-refused", "error", f"the kernel never started: {text}.")
