"""Every tile of kernels/flash2.cuh timed (queries, keys, warps), for heads of 64 and 128 columns; results/<gpu>.json, tables tile_sweep and tile_alone.

tile_sweep: fp16, random, 16,384 tokens, heads · d = 2048, N = 512 and 4096, causal and not. tile_alone: two heads, N = 4096, not causal, so few blocks that
none shares its SM with another. The tiles take turns (the order reversed every second round), the median of 20. Outputs start poisoned and are compared with
float64 (ragged, causal, rows without a key) in the same run. What the cost model says before anything runs stands beside it: the last lines are the rank
correlations.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench import layer
from lanewise.bench.duel import launch_times
from lanewise.bench.layer import RAGGED, exact, flops, poisoned, random, relative
from lanewise.bench.record import options, record, rounded
from lanewise.cost_model import SOURCE, Tile, candidates, rank_correlation, ranked
from lanewise.names import find_course

COMMAND = "python -m lanewise.bench.tile_sweep"
SIZES = (512, 4096)
FEW_HEADS = 2  # of 4096 queries: 128 blocks of 64, on the 132 SMs of an H200
ROUNDS = 20


@functools.cache
def kernel(tile: Tile) -> Any:
    from lanewise.cp import real_cupy

    options = (f"-I{find_course().root / 'kernels'}", "--std=c++17")
    found = real_cupy().RawModule(code=SOURCE, options=options, name_expressions=(tile.name,)).get_function(tile.name)
    found.max_dynamic_shared_size_bytes = tile.shared_bytes
    return found


def attend(tile: Tile, q: Any, k: Any, v: Any, o: Any, lse: Any) -> None:
    """o, lse of CuPy arrays (heads, N, d) in fp16."""
    heads, nq, d = q.shape
    args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), np.int32(1), np.float32(1 / math.sqrt(d)))
    kernel(tile)((-(-nq // tile.Br), heads), (tile.threads,), args, shared_mem=tile.shared_bytes)


def check(cp: Any, tile: Tile) -> None:
    """Raises AssertionError where a tile is further from float64 than 16-bit rounding explains."""
    for nq, nk in RAGGED:
        q, k, v = random(cp, (2, nq, tile.d), nq), random(cp, (2, nk, tile.d), nk), random(cp, (2, nk, tile.d), nq + nk)
        o, lse = poisoned(cp, q)
        attend(tile, q, k, v, o, lse)
        apart = relative(cp, o, exact(cp, q, k, v, tile.causal)[0])
        if not apart <= 2e-3:
            raise AssertionError(f"{tile.name} is wrong for Nq = {nq}, Nk = {nk}: {apart}")


def measure(cp: Any, d: int, causal: bool, sizes: Sequence[tuple[int, int]]) -> list[results.Row]:
    """Of each (N, heads) a row a tile."""
    rows: list[results.Row] = []
    tiles = candidates(d, causal)
    for tile in tiles:
        check(cp, tile)
    for n, heads in sizes:
        q, k, v = (random(cp, (heads, n, d), n + d + i) for i in range(3))
        o, lse = poisoned(cp, q)
        all_times = launch_times(cp, [functools.partial(attend, tile, q, k, v, o, lse) for tile in tiles], ROUNDS)
        work = flops(heads, n, d, causal)
        for tile, times in zip(tiles, all_times, strict=True):
            ms, code = statistics.median(times), kernel(tile)
            rows.append(
                {"d": d, "causal": causal, "N": n, "heads": heads, "Br": tile.Br, "Bc": tile.Bc, "warps": tile.warps,
                 "registers": int(code.num_regs), "local_bytes": int(code.local_size_bytes), "ms": ms, "TFLOPs": work / ms / 1e9}
            )  # fmt: skip
    return rows


def sweep(cp: Any) -> list[results.Row]:
    """Enough heads to fill the GPU."""
    return [row for d in (64, 128) for causal in (False, True) for row in measure(cp, d, causal, [(n, layer.heads(n, d)) for n in SIZES])]


def lone(cp: Any) -> list[results.Row]:
    """So few that each block has an SM to itself."""
    return [row for d in (64, 128) for row in measure(cp, d, False, [(4096, FEW_HEADS)])]


def correlations(table: results.Table) -> list[tuple[str, dict[str, float]]]:
    """Of each shape of the table: its name, and the rank correlation with the measured times of three orders. By resident warps; by the highest roof,
    if a scheduler's products and its other instructions overlapped; by the cost model."""
    found = []
    for shape in dict.fromkeys((row["d"], row["causal"], row["N"], row["heads"]) for row in table.rows):
        d, causal, n, heads = shape
        times = {_tile(row): row["ms"] for row in table.rows if (row["d"], row["causal"], row["N"], row["heads"]) == shape}
        guesses = ranked(list(times), n, heads=heads, gpu="H200")
        measured = [times[each.tile] for each in guesses]
        ways: dict[str, list[float]] = {
            "resident warps": [-each.resident.warps for each in guesses],
            "highest roof": [each.launch / each.per_tile * max(each.clocks.values()) for each in guesses],
            "cost model": [each.launch for each in guesses],
        }
        name = f"d = {d}, N = {n:,}, {heads:,} heads" + (", causal" if causal else "")
        found.append((name, {way: rank_correlation(order, measured) for way, order in ways.items()}))
    return found


def _tile(row: results.Row) -> Tile:
    return Tile(row["d"], row["Br"], row["Bc"], row["warps"], row["causal"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--only", choices=["tile_sweep", "tile_alone"], help="measure one of the tables")
    asked = parser.parse_args(argv)
    from lanewise.cp import real_cupy

    cp = real_cupy()
    for name, rows_of in (("tile_sweep", sweep), ("tile_alone", lone)):
        if asked.only not in (None, name):
            continue
        table = record(cp, name, COMMAND, rounded(rows_of(cp)), asked.out)
        print(table, flush=True)
        for shape, ways in correlations(table):
            print(f"{shape}: rank correlation with the measured times:", ", ".join(f"{way} {value:.2f}" for way, value in ways.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
