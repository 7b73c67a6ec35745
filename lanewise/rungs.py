"""The course's forward kernels as rungs of one ladder: what each needs, and how it is launched. `lanewise.attention` and the benches climb it.

A rung takes contiguous arrays of one dtype: q (heads, Nq, d), k and v (heads / group, Nk, d); it writes o (heads, Nq, d) and lse float32 (heads, Nq),
natural logarithm. Causal is bottom-right aligned: query i sees keys up to i + Nk − Nq; a row that sees no key gets o = 0 and lse = −inf.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.simt.gpus import LIMITS

TYPES = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
LAUNCH = Callable[[], None]
L2_BYTES = 40 << 20  # of an H100's or H200's 50 MB, what keys and values of a section may fill


@dataclass(frozen=True)
class Rung:
    """One kernel. `prepare(q, k, v, o, lse, causal, scale)` gives a function that launches it on CuPy's current stream."""

    name: str
    idea: str
    capability: int  # compute capability from which it runs, 80 for 8.0
    upwards: bool  # on later ones, too
    dtypes: tuple[str, ...]
    head_sizes: tuple[int, ...]
    prepare: Callable[..., LAUNCH]
    shared_kb: int = 48  # dynamic shared memory of a block at most

    def fits(self, capability: int, dtype: str, d: int) -> bool:
        """Whether it runs on a GPU of this compute capability (90 for 9.0), with this dtype and head size."""
        able = capability == self.capability or (self.upwards and capability > self.capability)
        room = LIMITS[capability].shared_per_block if capability in LIMITS else min(limits.shared_per_block for limits in LIMITS.values())
        return able and self.shared_kb * 1024 <= room and dtype in self.dtypes and d in self.head_sizes


@functools.cache
def _kernel(header: str, name: str, shared_bytes: int) -> Any:
    from lanewise import cp

    kernel = cp.RawModule(code=f"#include <{header}>\n", options=("--std=c++17",), name_expressions=(name,)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = shared_bytes
    return fast(kernel)


def fast(kernel: Any) -> Any:
    """The kernel itself. Raises ValueError where this GPU can't run it: on the simulator a tensor of a model's size would take days."""
    if why := getattr(kernel, "simulated_because", ""):
        raise ValueError(f"{why}: there is no fast kernel here.")
    return kernel


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _flash_registers(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, scale: float) -> LAUNCH:
    """kernels/ch12_flash_registers.cu: float32 on the FMA units; every query head has its own key head."""
    from lanewise import cp
    from lanewise.listing import source

    if k.shape[0] != q.shape[0]:
        k, v = (cp.repeat(x, q.shape[0] // x.shape[0], axis=0) for x in (k, v))
    kernel = _float32_kernel(source("ch12_flash_registers"))
    heads, nq, _ = q.shape
    args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), np.float32(scale), np.int32(causal))
    return lambda: kernel((-(-nq // 128), heads), (128,), args, shared_mem=107520)


@functools.cache
def _float32_kernel(code: str) -> Any:
    from lanewise import cp

    kernel = cp.RawKernel(code, "flash_registers")
    kernel.max_dynamic_shared_size_bytes = 107520
    return fast(kernel)


def _flash2(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, scale: float) -> LAUNCH:
    """kernels/flash2.cuh: mma.sync, ldmatrix, cp.async."""
    heads, nq, d = q.shape
    keys = {64: 128, 128: 64}[d]  # of a tile
    shared = 2 * d * (128 + 2 * keys)
    kernel = _kernel("flash2.cuh", f"flash2<{TYPES[q.dtype.name]}, {d}, {keys}, {_flag(causal)}>", shared)
    args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), np.int32(heads // k.shape[0]), np.float32(scale))
    return lambda: kernel((-(-nq // 128), heads), (128,), args, shared_mem=shared)


@dataclass(frozen=True)
class Tile3:
    """A tile of flash3: keys, consumer warpgroups (64 query rows each), stages of the ring; which of the kernel's ideas are switched on.

    `own_tiles`: under a causal mask a warpgroup leaves out the key tiles that only the other groups' rows see.
    """

    keys: int
    consumers: int
    stages: int
    pingpong: bool
    overlap: bool = True
    longest_first: bool = True
    own_tiles: bool = False
    persistent: bool = True

    def shared_bytes(self, d: int) -> int:
        """Dynamic shared memory: O has a place of its own where it fits, else Q's."""
        q, ring = self.consumers * 64 * d * 2, 2 * self.stages * self.keys * d * 2
        return 2 * q + ring if 2 * q + ring <= 230000 else q + ring


def tile3(d: int, causal: bool, nk: int) -> Tile3:
    """The tile that was fastest on an H200 (docs/tuning-log.md)."""
    if d == 64:
        return Tile3(128, 3, 2, pingpong=nk > 512, own_tiles=causal)
    return Tile3(128 if nk <= 1024 or (causal and nk < 16384) else 160, 2, 2, pingpong=False)


def section_of(heads: int, nk: int, d: int, group: int) -> int:
    """Query heads whose keys and values fill the L2 at most: causal tiles are taken longest first within so many heads."""
    fit = max(1, L2_BYTES // max(1, nk * d * 4)) * group
    return max(1, min(heads, 1 << (fit.bit_length() - 1)))


def _flash3(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, scale: float, tile: Tile3 | None = None) -> LAUNCH:
    """kernels/flash3.cuh: TMA, wgmma, warps with jobs; a persistent grid."""
    from lanewise import cp

    heads, nq, d = q.shape
    group, nk = heads // k.shape[0], k.shape[1]
    t = tile or tile3(d, causal, nk)
    flags = ", ".join(map(_flag, (causal, t.pingpong, t.overlap, t.longest_first, t.own_tiles)))
    form = f"{TYPES[q.dtype.name]}, {d}, {t.keys}, {t.consumers}, {t.stages}, {flags}"
    shared = t.shared_bytes(d)
    kernel = _kernel("flash3.cuh", f"flash3<{form}>", shared)
    maps = [cp.tensor_map(x, (1, rows, 64), swizzle="128B", l2="256B") for x, rows in ((q, 64), (k, t.keys), (v, t.keys), (o, 64))]
    ticket = cp.zeros(1, np.int32)
    blocks = -(-nq // (64 * t.consumers)) * heads
    if t.persistent:
        blocks = min(cp.cuda.Device().attributes["MultiProcessorCount"], blocks)
    args = (*maps, lse, ticket, *(np.int32(x) for x in (nq, nk, heads, group, section_of(heads, nk, d, group))), np.float32(scale))
    return lambda: kernel((blocks,), (128 * (t.consumers + 1),), args, shared_mem=shared)


FLASH_REGISTERS = Rung("flash_registers", "float32 on the FMA units, 8 x 8 in registers", 80, True, ("float32",), (64,), _flash_registers, 105)
FLASH2 = Rung("flash2", "mma.sync, ldmatrix, cp.async", 80, True, tuple(TYPES), (64, 128), _flash2, 64)
FLASH3 = Rung("flash3", "TMA, wgmma, warps with jobs", 90, False, tuple(TYPES), (64, 128), _flash3, 225)
LADDER = (FLASH3, FLASH2, FLASH_REGISTERS)  # the best first
