"""What a tile of flash2 should cost, before anything runs: units' work from the simulator's counters, residency from ptxas, rates measured or published.

A tile of keys gives every unit of an SM so many clocks of work. Shared memory, the unit for powers and the road to L2 work beside all others. A scheduler
doesn't: on Hopper its products by mma.sync and its other instructions take turns (results/h200.json, table mma_beside), so the two times add. None of these
roofs can be passed. A block that is alone on its SM takes longer: its warps multiply together and raise powers together, so that shared memory and the unit
for powers take turns, and nothing fills the waits of its longest chain of instructions. Other blocks do: with b of them side by side a tile costs
max(highest roof, alone / b) clocks. A launch costs that times the tiles of the SM that has most blocks, in rounds of as many as are resident. Nothing is
fitted to measured times of these kernels.
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
UNITS = ("tensor cores", "issue", "shared memory", "powers", "L2")
ROOFS = ("schedulers", "shared memory", "powers", "L2")
PRODUCT = 2 * 16 * 8 * 16  # flops of one mma.sync of a warp


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
class Latencies:
    """Clocks from an instruction to the next one that needs its result, of an H200: results/h200.json, table mma_beside, rows "chain"; `barrier` of 8 warps."""

    product: float = 24.0
    ldmatrix: float = 29.0
    shuffle: float = 24.0
    power: float = 17.0
    arithmetic: float = 4.1
    barrier: float = 28.1


@dataclass(frozen=True, slots=True)
class Rates:
    """What an SM's units do in a clock, as of an H200.

    `tensor_flops`: dense 16-bit products by mma.sync, four schedulers with 8 products in 48.7 clocks (results/h200.json, mma_beside). That is 66 % of the
    data sheet's 989 TFLOP/s, which take wgmma; Luo et al., 2024 (arXiv 2402.13499) have 63 %. `products_add`: whether a scheduler's other instructions
    wait for its products (mma_beside: "fma", "add" and "mixed" in other warps). `shared_wavefronts` of 128 bytes, `powers`, `warp_instructions`: CUDA C++
    Programming Guide, throughput of instructions; the same table has them, too. `l2_bytes`: 5.9 TB/s (cached_reads, 4 MiB) over 132 SMs at 1.98 GHz.
    """

    tensor_flops: float = 4 * 8 * PRODUCT / 48.7
    products_add: bool = True
    shared_wavefronts: float = 1
    powers: float = 16
    warp_instructions: float = 4
    schedulers: int = 4
    l2_bytes: float = 22.6
    latency: Latencies = Latencies()


# By compute capability. A100: 312 TFLOP/s (data sheet) over 108 SMs at 1.41 GHz; L2: 5,120 bytes a clock for all SMs (A100 whitepaper). Not measured here: its
# products are taken to leave their scheduler free, its latencies to be an H200's.
RATES = {80: Rates(tensor_flops=2048, products_add=False, l2_bytes=47), 90: Rates()}


@dataclass(frozen=True, slots=True)
class Work:
    """What one block does for one tile of keys (not counting what comes before and after its loop)."""

    flops: int  # of the two products
    wavefronts: int  # ldmatrix, and what arrives by cp.async
    powers: int
    instructions: int  # PTX, of warps
    bytes: int  # asked of L2

    @property
    def products(self) -> int:
        """Instructions that are mma.sync."""
        return self.flops // PRODUCT


@dataclass(frozen=True, slots=True)
class Estimate:
    """`clocks`: of each unit, for a tile of one block; `roofs`: of what works beside the others; `alone`: a tile's, if no other block is on the SM;
    `per_tile`: with the resident ones beside it; `launch`: clocks of the whole launch."""

    tile: Tile
    work: Work
    used: Resources
    resident: Occupancy
    clocks: dict[str, float]
    roofs: dict[str, float]
    alone: float
    per_tile: float
    launch: float

    @property
    def busiest(self) -> str:
        """The highest roof."""
        return max(self.roofs, key=lambda roof: self.roofs[roof])

    @property
    def spilled(self) -> int:
        """Bytes of a thread, stored and loaded."""
        return self.used.spill_stores + self.used.spill_loads

    @property
    def waits(self) -> bool:
        """Whether waiting decides, not a roof: too few blocks side by side to fill each other's waits."""
        return self.per_tile > self.roofs[self.busiest]


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


def chain(tile: Tile, latency: Latencies) -> float:
    """Clocks of the longest chain of instructions in a tile, each of which needs the one before it.

    A barrier, a fragment of K, the products along d; the maximum of a row's Bc / 8 pairs and of its four lanes; scaled, subtracted, raised, rounded. A barrier,
    a fragment of V, the products along Bc. (The row's sum isn't waited for.)
    """
    products = (tile.d + tile.Bc) // 16
    arithmetic = tile.Bc // 8 + 2 + 3
    return 2 * (latency.barrier + latency.ldmatrix + latency.shuffle) + products * latency.product + arithmetic * latency.arithmetic + latency.power


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
    others = mine.instructions - mine.products + tile.warps * spills / 4  # what spilled: an instruction for 4 bytes of each thread
    clocks = {
        "tensor cores": mine.flops / rates.tensor_flops,
        "issue": others / rates.warp_instructions,
        "shared memory": (mine.wavefronts + spills * tile.threads / 128) / rates.shared_wavefronts,
        "powers": mine.powers / rates.powers,
        "L2": mine.bytes / rates.l2_bytes,
    }
    join = sum if rates.products_add else max
    roofs = {"schedulers": join((clocks["tensor cores"], clocks["issue"]))} | {unit: clocks[unit] for unit in ROOFS[1:]}
    busiest = max(roofs.values())
    idle = max(1.0, rates.schedulers / tile.warps)  # two warps leave two schedulers idle, and their units for powers
    alone = max(busiest, idle * roofs["schedulers"], clocks["shared memory"] + idle * clocks["powers"]) + chain(tile, rates.latency)

    def beside(blocks: int) -> float:
        """Clocks of a tile of one of `blocks` blocks on an SM."""
        return max(busiest, alone / blocks) if blocks else 0.0

    # The busiest SM gets a block more than others may; the last round of blocks may leave it half empty.
    rows = -(-Nq // tile.Br)
    of_sm = math.ceil(rows * heads / GPUS[gpu].sms)
    side = min(resident.blocks, of_sm)
    rounds, rest = divmod(of_sm, side)
    tiles = _visited(tile, Nq, Nq if Nk is None else Nk) / rows
    launch = tiles * (rounds * side * beside(side) + rest * beside(rest))
    return Estimate(tile, mine, taken, resident, clocks, roofs, alone, beside(side), launch)


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
