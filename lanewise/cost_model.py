"""What a tile of flash2 should cost, before anything runs: units' work from the simulator's counters, residency from ptxas.

A tile of keys gives every unit of an SM so many clocks of work: tensor cores, shared memory, the unit for powers, instruction issue, the road to L2.
No unit can be busy longer than time passes; and one block goes through them one after the other, since its steps depend on each other. With `w` warps on
each of the SM's four schedulers, w such chains run side by side. So a tile costs max(busiest unit, sum of all / w) clocks, and a launch costs that times
the tiles of the SM that has most blocks, in rounds of as many as are resident. Nothing is fitted to measured times of these kernels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lanewise import simt
from lanewise.simt.gpus import GPUS
from lanewise.simt.resources import Occupancy, Resources, occupancy, resources

SOURCE = "#include <flash2.cuh>\n"
UNITS = ("tensor cores", "shared memory", "powers", "issue", "L2")


@dataclass(frozen=True, slots=True)
class Tile:
    """One instance of flash2: d, queries and keys of a tile, warps of a block."""

    d: int
    Br: int
    Bc: int
    warps: int
    causal: bool = False

    @property
    def name(self) -> str:
        """The name expression."""
        return f"flash2<__half, {self.d}, {self.Bc}, {'true' if self.causal else 'false'}, {self.Br}, {self.warps}>"

    @property
    def shared_bytes(self) -> int:
        return 2 * self.d * (self.Br + 2 * self.Bc)

    @property
    def threads(self) -> int:
        return 32 * self.warps

    def __str__(self) -> str:
        return f"{self.Br} x {self.Bc}, {self.warps} warps"


@dataclass(frozen=True, slots=True)
class Rates:
    """What an SM's units do in a clock, as of an H200.

    `tensor_flops`: dense 16-bit products by mma.sync. The data sheet's 989 TFLOP/s are 4,096, by wgmma; mma.sync reaches 63 % of that on Hopper
    (Luo et al., 2024, arXiv 2402.13499). `shared_wavefronts` of 128 bytes, `powers`, `warp_instructions`: CUDA C++ Programming Guide, throughput of
    instructions. `l2_bytes`: 5.9 TB/s (results/h200.json, cached_reads, 4 MiB) over 132 SMs at 1.98 GHz.
    """

    tensor_flops: float = 0.63 * 4096
    shared_wavefronts: float = 1
    powers: float = 16
    warp_instructions: float = 4
    l2_bytes: float = 22.6
    schedulers: int = 4


# By compute capability. A100: 312 TFLOP/s (data sheet) over 108 SMs at 1.41 GHz; L2: 5,120 bytes a clock for all SMs (A100 whitepaper). Not measured here.
RATES = {80: Rates(tensor_flops=2048, l2_bytes=47), 90: Rates()}


@dataclass(frozen=True, slots=True)
class Work:
    """What one block does for one tile of keys (not counting what comes before and after its loop)."""

    flops: int  # of the two products
    wavefronts: int  # ldmatrix, and what arrives by cp.async
    powers: int
    instructions: int  # PTX, of warps
    bytes: int  # asked of L2


@dataclass(frozen=True, slots=True)
class Estimate:
    """`clocks`: of each unit, for a tile of one block; `tile`: what the model makes of them; `launch`: clocks of the whole launch."""

    tile: Tile
    work: Work
    used: Resources
    resident: Occupancy
    clocks: dict[str, float]
    per_tile: float
    launch: float

    @property
    def busiest(self) -> str:
        return max(self.clocks, key=lambda unit: self.clocks[unit])

    @property
    def spilled(self) -> int:
        """Bytes of a thread, stored and loaded."""
        return self.used.spill_stores + self.used.spill_loads

    @property
    def chained(self) -> bool:
        """Whether waiting decides, not a unit: too few warps to keep the busiest one busy."""
        return self.per_tile > self.clocks[self.busiest]


def modelled() -> list[str]:
    """The GPUs whose rates the model has."""
    return [name for name, gpu in GPUS.items() if gpu.capability in RATES]


def candidates(d: int, causal: bool = False, gpu: str = "H200") -> list[Tile]:
    """The tiles of flash2 worth a look that fit a block's shared memory, 16 or 32 rows a warp.

    Raises ValueError for another d than 64 or 128, or a GPU without flash2's instructions.
    """
    if d not in (64, 128):
        raise ValueError(f"flash2 has heads of 64 or 128 columns, not {d}.")
    if GPUS[gpu].capability < 80:
        raise ValueError(f"flash2 needs a GPU of compute capability 8.0 or later, {gpu} has {GPUS[gpu].capability / 10}.")
    most = GPUS[gpu].limits.shared_per_block
    # A round of copies has to be 8 rows at least, or a thread's chunk would change its place (copy_tile).
    shapes = [(Br, warps) for Br in (64, 128) for warps in (2, 4, 8) if Br // warps in (16, 32) and 32 * warps >= d]
    tiles = [Tile(d, Br, Bc, warps, causal) for Br, warps in shapes for Bc in (32, 64, 128)]
    return [tile for tile in tiles if tile.shared_bytes <= most]


@functools.lru_cache(maxsize=256)
def work(tile: Tile) -> Work:
    """Counted on the simulator: a block with four tiles of keys less one with two, halved. Powers are the scores, and a factor in each of a row's lanes."""
    two, four = (_counters(tile, n * tile.Bc) for n in (2, 4))

    def each(name: str) -> int:
        return (getattr(four, name) - getattr(two, name)) // 2

    moved = each("global_bytes")
    arrived = moved // 128
    return Work(
        flops=4 * tile.Br * tile.Bc * tile.d,
        wavefronts=each("shared_load_wavefronts") + each("shared_store_wavefronts") + arrived,
        powers=tile.Br * tile.Bc + 4 * tile.Br,
        instructions=each("warp_instructions"),
        bytes=moved,
    )


@functools.lru_cache(maxsize=256)
def used(tile: Tile, arch: str = "sm_90a") -> Resources:
    """Registers and spills, by ptxas."""
    return resources(SOURCE, tile.name, arch, names=(tile.name,))


def estimate(tile: Tile, Nq: int = 4096, Nk: int | None = None, heads: int = 16, gpu: str = "H200") -> Estimate:
    """What a launch of `heads` heads should cost. Raises ValueError for a GPU without RATES, or a tile of which no block fits an SM."""
    if gpu not in modelled():
        raise ValueError(f"The cost model has no rates for {gpu!r}: take one of {', '.join(modelled())}.")
    rates = RATES[GPUS[gpu].capability]
    taken = used(tile, GPUS[gpu].arch)
    resident = occupancy(taken.registers, tile.shared_bytes, tile.threads, gpu)
    if not resident.blocks:
        raise ValueError(f"No block of {tile} fits an SM of {gpu} ({resident.limited_by}): take a smaller tile.")
    mine, spills = work(tile), taken.spill_stores + taken.spill_loads
    clocks = {
        "tensor cores": mine.flops / rates.tensor_flops,
        "shared memory": (mine.wavefronts + spills * tile.threads / 128) / rates.shared_wavefronts,
        "powers": mine.powers / rates.powers,
        "issue": mine.instructions / rates.warp_instructions,
        "L2": mine.bytes / rates.l2_bytes,
    }
    busiest, chain = max(clocks.values()), sum(clocks.values()) * rates.schedulers / tile.warps

    def beside(blocks: int) -> float:
        """Clocks of a tile of one of `blocks` blocks on an SM."""
        return max(busiest, chain / blocks) if blocks else 0.0

    # The busiest SM gets a block more than others may; the last round of blocks may leave it half empty.
    rows = -(-Nq // tile.Br)
    of_sm = math.ceil(rows * heads / GPUS[gpu].sms)
    side = min(resident.blocks, of_sm)
    rounds, rest = divmod(of_sm, side)
    tiles = _visited(tile, Nq, Nq if Nk is None else Nk) / rows
    launch = tiles * (rounds * side * beside(side) + rest * beside(rest))
    return Estimate(tile, mine, taken, resident, clocks, beside(side), launch)


def ranked(tiles: Sequence[Tile], Nq: int = 4096, Nk: int | None = None, heads: int = 16, gpu: str = "H200") -> list[Estimate]:
    """Estimates, the cheapest first; a tile of which no block fits is left out."""
    found = []
    for tile in tiles:
        if occupancy(used(tile, GPUS[gpu].arch).registers, tile.shared_bytes, tile.threads, gpu).blocks:
            found.append(estimate(tile, Nq, Nk, heads, gpu))
    return sorted(found, key=lambda each: each.launch)


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: the correlation of the two orders, 1 for the same, −1 for the reverse; equal values share their mean rank.

    Raises ValueError for fewer than two values, different lengths, or values that are all equal.
    """
    if len(a) != len(b) or len(a) < 2:
        raise ValueError("rank_correlation needs two columns of the same length, at least 2.")
    x, y = _ranks(np.asarray(a, float)), _ranks(np.asarray(b, float))
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(x @ x) * float(y @ y))
    if not spread:
        raise ValueError("rank_correlation needs values that differ: these have no order.")
    return float(x @ y) / spread


def _ranks(values: np.ndarray) -> np.ndarray:
    return np.array([((values < v).sum() + (values <= v).sum() - 1) / 2 for v in values])


def _visited(tile: Tile, Nq: int, Nk: int) -> int:
    """Tiles of keys that all blocks of a head visit."""
    blocks = range(0, Nq, tile.Br)
    if not tile.causal:
        return len(blocks) * -(-Nk // tile.Bc)
    return sum(-(-max(0, min(Nk, min(first + tile.Br, Nq) + Nk - Nq)) // tile.Bc) for first in blocks)


def _counters(tile: Tile, Nk: int) -> simt.Counters:
    """Of one block, all of whose tiles are whole."""
    plain = Tile(tile.d, tile.Br, tile.Bc, tile.warps)
    kernel = simt.compile(SOURCE, names=(plain.name,)).kernel(plain.name)
    kernel.max_dynamic_shared_size_bytes = plain.shared_bytes
    Q, K, V = (np.zeros((1, n, tile.d), np.float16) for n in (tile.Br, Nk, Nk))
    O, LSE = np.empty_like(Q), np.empty((1, tile.Br), np.float32)  # noqa: E741
    args = (Q, K, V, simt.Output(O), simt.Output(LSE), np.int32(tile.Br), np.int32(Nk), np.int32(1), np.float32(1))
    report = kernel.launch(1, tile.threads, args, plain.shared_bytes)
    report.raise_if_faulty()
    return report.counters
