"""flash3's tiles, and its ideas switched off one at a time, beside cuDNN; results/<gpu>.json, table flash3_switches.

The tensors and flops of attention_ladder (random fp16, 16,384 tokens, heads · d = 2048); each variant takes turns with cuDNN (A B B A, 16 pairs after 0.2 s),
the median of the ratios with its 95 % interval. `series` is "tile" for other sizes of tiles under the same ideas, "without" for one idea changed under the
tile that lanewise.attention takes ("one block a tile": as many blocks as tiles in place of a persistent grid). Every variant is compared with float64 on ragged
shapes and poisoned outputs, and with cuDNN on what is timed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lanewise import results
from lanewise.bench import layer
from lanewise.bench.duel import duel
from lanewise.bench.layer import exact, flops, poisoned, random, relative
from lanewise.bench.libraries import APART, first, rivals
from lanewise.bench.record import options, record, rounded, sizes
from lanewise.rungs import Tile3, _flash3, tile3

COMMAND = "python -m lanewise.bench.flash3_switches"
SIZES = (512, 2048, 16384)
RAGGED = ((1, 1), (200, 70), (333, 500))
PAIRS, WARM_UP_S = 16, 0.2
KEYS = (112, 128, 160, 176)


def fits(d: int, tile: Tile3) -> bool:
    """227 KB for a block, one of them for barriers; and registers: 232 or 160 a thread hold scores, P and O, or the tile isn't worth a try."""
    room = {2: 232, 3: 160}[tile.consumers] - 24
    return tile.shared_bytes(d) <= 231424 and tile.keys * 3 // 4 + d // 2 <= room


def variants(d: int, causal: bool, n: int) -> Iterator[tuple[str, str, Tile3]]:
    """(series, name, tile): the tile in use first."""
    base = tile3(d, causal, n)
    yield "tile", "in use", base
    others = [replace(base, keys=keys) for keys in KEYS]
    others += [replace(base, consumers=5 - base.consumers, keys=keys) for keys in KEYS] if d == 64 else []
    others += [replace(base, keys=128, stages=3)]
    for tile in dict.fromkeys(others):
        if tile != base and fits(d, tile):
            yield "tile", f"{tile.keys} keys, {64 * tile.consumers} rows, {tile.stages} stages", tile
    yield "without", "no ping-pong" if base.pingpong else "with ping-pong", replace(base, pingpong=not base.pingpong)
    yield "without", "no overlap", replace(base, overlap=False)
    yield "without", "neither" if base.pingpong else "ping-pong in place of overlap", replace(base, overlap=False, pingpong=not base.pingpong)
    yield "without", "one block a tile", replace(base, persistent=False)
    if causal:
        yield "without", "shortest first", replace(base, longest_first=False)
        yield "without", "its own tiles alone" if not base.own_tiles else "all tiles of the block", replace(base, own_tiles=not base.own_tiles)


@functools.cache
def check(d: int, causal: bool, tile: Tile3) -> None:
    """Raises AssertionError where the variant is further from float64 than 16-bit rounding explains."""
    from lanewise.cp import real_cupy

    cp = real_cupy()
    for nq, nk in RAGGED:
        q, k, v = random(cp, (4, nq, d), nq), random(cp, (2, nk, d), nk), random(cp, (2, nk, d), nq + nk)
        o, lse = poisoned(cp, q)
        _flash3(q, k, v, o, lse, causal, 1 / math.sqrt(d), tile)()
        right, sums = exact(cp, q, k, v, causal)
        apart = float(cp.abs(cp.where(cp.isinf(sums), 0, lse - sums)).max())
        if not relative(cp, o, right) <= 1e-3 or not apart <= 1e-4:
            raise AssertionError(f"{tile} is wrong for d = {d}, Nq = {nq}, Nk = {nk}, causal = {causal}: {relative(cp, o, right)}, {apart}")


def measure(cp: Any, sizes: Sequence[int]) -> list[results.Row]:
    """All points; raises AssertionError where a variant is wrong."""
    rows: list[results.Row] = []
    for d in (64, 128):
        for n in sizes:
            heads = layer.heads(n, d)
            q, k, v = (random(cp, (heads, n, d), n + d + i) for i in range(3))
            o, lse = poisoned(cp, q)
            for causal in (False, True):
                work = flops(heads, n, d, causal)
                other = rivals(q, k, v, causal)["cuDNN"]
                for series, name, tile in variants(d, causal, n):
                    check(d, causal, tile)
                    mine = _flash3(q, k, v, o, lse, causal, 1 / math.sqrt(d), tile)
                    o.fill(cp.nan)
                    mine()
                    apart = float(cp.abs(o - first(cp, other)).max())
                    if not apart <= APART:
                        raise AssertionError(f"{tile} and cuDNN differ by {apart} for d = {d}, N = {n}, causal = {causal}")
                    fought = duel(cp, mine, other, pairs=PAIRS, warm_up_s=WARM_UP_S)
                    rows.append(
                        {"d": d, "N": n, "causal": causal, "series": series, "variant": name, "keys": tile.keys, "rows": 64 * tile.consumers,
                         "stages": tile.stages, "pingpong": tile.pingpong, "TFLOPs": work / fought.ms / 1e9, "cuDNN": work / fought.other_ms / 1e9,
                         "ratio": fought.ratio, "low": fought.low, "high": fought.high}
                    )  # fmt: skip
                    print(", ".join(f"{key} {x:.3f}" if isinstance(x, float) else f"{key} {x}" for key, x in rows[-1].items()), flush=True)
    return rounded(rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--sizes", type=sizes, default=",".join(str(n) for n in SIZES), help="sequence lengths, separated by commas")
    asked = parser.parse_args(argv)
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()  # one stream for all
    rows = measure(cp, asked.sizes)
    table = record(cp, "flash3_switches", COMMAND, rows, asked.out, torch=torch.__version__)
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
