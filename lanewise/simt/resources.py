"""What a kernel takes of an SM: registers and memory from ptxas, and how many of its blocks fit side by side. Needs no GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import nvrtc
from .compile_errors import not_found
from .errors import KernelNotFound
from .gpus import GPU, GPUS, blocks_by_registers


@dataclass(frozen=True)
class Resources:
    """Per thread: registers, spilled and local bytes. Per block: static shared memory in bytes, barriers used.

    `constant_bytes`: of constants the compiler made itself (the module's `__constant__` arrays are not counted).
    """

    registers: int
    spill_stores: int
    spill_loads: int
    static_shared: int
    local: int
    barriers: int
    arch: str
    constant_bytes: int = 0

    def __str__(self) -> str:
        spilled = f"{self.spill_stores + self.spill_loads} bytes spilled" if self.spill_stores or self.spill_loads else "nothing spilled"
        memory = f"{self.local} bytes of local memory, {self.static_shared} bytes of static shared memory"
        return f"{self.registers} registers a thread, {spilled}, {memory} ({self.arch})"


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks on one SM. `limited_by`: "registers", "shared memory", "threads" or "blocks" (the SM's own maximum)."""

    blocks: int
    warps: int
    max_warps: int
    limited_by: str
    by_resource: dict[str, int]
    gpu: str

    @property
    def ratio(self) -> float:
        """Resident warps of those the SM can hold, 0 to 1."""
        return self.warps / self.max_warps

    def __str__(self) -> str:
        plural = "s" if self.blocks != 1 else ""
        return f"{self.blocks} block{plural} a SM of {self.gpu}, {self.warps} of {self.max_warps} warps ({self.ratio:.0%}), limited by {self.limited_by}"


def resources(source: str, kernel: str, arch: str = "sm_90a", options: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Resources:
    """What ptxas reports for `kernel`: its name in the PTX, or one of the name expressions in `names`.

    An `-arch` among `options` wins over `arch`. Raises CompileError and KernelNotFound.
    """
    options = (*options, "--ptxas-options=-v")
    _, log = nvrtc.cubin(source, arch, options, names)
    found = parse_log(log)
    kernel = nvrtc.lowered_names(source, arch, options, names).get(kernel, kernel)
    if kernel not in found:
        raise KernelNotFound(not_found(kernel, list(found), source))
    return found[kernel]


def parse_log(log: str) -> dict[str, Resources]:
    """Entry point → resources, from the text that `ptxas -v` writes."""
    found = {}
    for part in re.split(r"Compiling entry function ", log)[1:]:
        head = re.match(r"'([^']+)' for '([^']+)'", part)
        used = re.search(r"Used (\d+) registers([^\n]*)", part)
        if not head or not used:
            continue
        own = re.search(
            rf"Function properties for {re.escape(head[1])}\n[^\n]*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part
        )
        stack, stores, loads = (int(number) for number in own.groups()) if own else (0, 0, 0)
        cumulative = _number(r"(\d+) bytes cumulative stack", used[2])  # functions that were not inlined included
        shared, barriers = _number(r"(\d+) bytes smem", used[2]), _number(r"used (\d+) barriers", used[2])
        found[head[1]] = Resources(int(used[1]), stores, loads, shared, max(stack, cumulative), barriers, head[2], _number(r"(\d+) bytes cmem\[2\]", used[2]))
    return found


def occupancy(registers: int, shared: int, threads: int, gpu: str | GPU = "H200") -> Occupancy:
    """How many blocks of `threads` threads, with `shared` bytes (static and dynamic together), one SM holds.

    `gpu` is a name of `gpus.GPUS`. Raises ValueError for another one.
    """
    if isinstance(gpu, str):
        if gpu not in GPUS:
            raise ValueError(f"unknown GPU {gpu!r}: take one of {', '.join(GPUS)}")
        gpu = GPUS[gpu]
    limits = gpu.limits
    warps = -(-threads // 32)
    taken = -(-(shared + limits.shared_reserved) // limits.shared_portion) * limits.shared_portion
    by = {
        "threads": limits.threads_per_sm // 32 // warps,
        "registers": blocks_by_registers(registers, threads),
        "shared memory": 0 if shared > limits.shared_per_block else limits.shared_per_sm // taken if taken else limits.blocks_per_sm,
        "blocks": limits.blocks_per_sm,
    }
    limiting = min(by, key=lambda name: by[name])
    return Occupancy(by[limiting], by[limiting] * warps, limits.threads_per_sm // 32, limiting, by, gpu.name)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0
