"""FlashAttention-2's ideas, one a switch (kernels/flash2_by_*.cuh), beside PyTorch's FlashAttention-2; results/<gpu>.json, two tables.

flash2_switches: N = 4096, fp16, random, 16,384 tokens, heads · d = 2048, tiles of 128 x 64. The ideas one after the other (`cumulative`), each
alone on top of none (`alone`), each left out of all (`without`); turns taken with PyTorch (A B B A), the median of the ratios with its 95 % interval.
short_launches: N = 128, one launch of 1, 132 and 10,600 heads of 64 columns (claim 16), each with a cold L2 and the milliseconds of PyTorch beside it.
Outputs start poisoned and are compared with float64 (ragged, causal, rows without a key) in the same run.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench import layer
from lanewise.bench.duel import PAIRS, Duel, launch_times, milliseconds
from lanewise.bench.layer import RAGGED, exact, flops, poisoned, random, relative
from lanewise.bench.libraries import sdpa
from lanewise.bench.record import options, record, rounded
from lanewise.names import find_course
from lanewise.rungs import FLASH2

COMMAND = "python -m lanewise.bench.flash2_switches"
N, ROWS, KEYS = 4096, 128, 64
# In the order in which they are added; the first one chooses the kernel, the others are bits of its template parameter.
IDEAS = ("split queries", "divide once", "folded exp2", "many blocks", "skip tiles")
BIT = {"divide once": 1, "folded exp2": 2, "many blocks": 4, "skip tiles": 8}
HEADS = (1, 132, 10600)


@dataclass(frozen=True)
class Variant:
    """What is switched on, and in which of the three series it stands."""

    series: str
    name: str
    ideas: frozenset[str]


def variants(causal: bool) -> list[Variant]:
    """Cumulative, alone, without; skipping tiles says nothing where there is no mask."""
    known = [idea for idea in IDEAS if causal or idea != "skip tiles"]
    rows = [Variant("cumulative", "none" if not n else f"+ {known[n - 1]}", frozenset(known[:n])) for n in range(len(known) + 1)]
    rows += [Variant("alone", idea, frozenset([idea])) for idea in known[1:]]
    return rows + [Variant("without", idea, frozenset(known) - {idea}) for idea in known[:-1]]


@functools.cache
def kernel(d: int, causal: bool, ideas: frozenset[str]) -> Any:
    from lanewise.cp import real_cupy

    cp = real_cupy()
    entry = "by_queries" if "split queries" in ideas else "by_keys"
    bits = sum(BIT[idea] for idea in ideas if idea in BIT)
    name = f"{entry}<{d}, {'true' if causal else 'false'}, {bits}, {ROWS}, {KEYS}>"
    folder = find_course().root / "kernels"
    found = cp.RawModule(code=f"#include <flash2_{entry}.cuh>\n", options=(f"-I{folder}", "--std=c++17"), name_expressions=(name,)).get_function(name)
    found.max_dynamic_shared_size_bytes = shared_bytes(d, ideas)
    return found


def shared_bytes(d: int, ideas: frozenset[str]) -> int:
    tiles = 2 * d * (ROWS + 2 * KEYS)
    return tiles if "split queries" in ideas else tiles + 256 * (d + 8) + 36 * ROWS


def attend(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, ideas: frozenset[str]) -> None:
    """o, lse of CuPy arrays (heads, N, d) in fp16."""
    heads, nq, d = q.shape
    args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), np.float32(1 / math.sqrt(d)))
    blocks = -(-nq // ROWS) if "many blocks" in ideas else 1
    kernel(d, causal, ideas)((blocks, heads), (128,), args, shared_mem=shared_bytes(d, ideas))


def check(cp: Any, d: int, causal: bool, ideas: frozenset[str]) -> None:
    """Raises AssertionError where a variant is further from float64 than 16-bit rounding explains."""
    for nq, nk in RAGGED:
        q, k, v = random(cp, (2, nq, d), nq), random(cp, (2, nk, d), nk), random(cp, (2, nk, d), nq + nk)
        o, lse = poisoned(cp, q)
        attend(q, k, v, o, lse, causal, ideas)
        apart = relative(cp, o, exact(cp, q, k, v, causal)[0])
        if not apart <= 2e-3:
            raise AssertionError(f"{sorted(ideas)} is wrong for d = {d}, Nq = {nq}, Nk = {nk}, causal = {causal}: {apart}")


def switches(cp: Any) -> list[results.Row]:
    rows: list[results.Row] = []
    for d in (64, 128):
        heads = layer.heads(N, d)
        q, k, v = (random(cp, (heads, N, d), N + d + i) for i in range(3))
        o, lse = poisoned(cp, q)
        for causal in (False, True):
            work = flops(heads, N, d, causal)
            base = sdpa(q, k, v, causal, "FLASH_ATTENTION")
            timed: list[tuple[str, str, Callable[[], Any]]] = []
            for variant in variants(causal):
                check(cp, d, causal, variant.ideas)
                timed.append((variant.series, variant.name, functools.partial(attend, q, k, v, o, lse, causal, variant.ideas)))
            timed.append(("kernel", "flash2.cuh", FLASH2.prepare(q, k, v, o, lse, causal, 1 / math.sqrt(d))))
            for series, name, call in timed:
                fought = Duel.of(*launch_times(cp, [call, base], PAIRS if series in ("cumulative", "kernel") else 16))
                rows.append(
                    {"d": d, "causal": causal, "series": series, "idea": name, "ms": fought.ms, "TFLOPs": work / fought.ms / 1e9,
                     "PyTorch": work / fought.other_ms / 1e9, "ratio": fought.ratio, "low": fought.low, "high": fought.high}
                )  # fmt: skip
    return rows


def short_launches(cp: Any) -> list[results.Row]:
    """N = 128, d = 64: bytes are Q, K, V, O and LSE once. L2 is filled with other data before each launch."""
    rows: list[results.Row] = []
    n, d = 128, 64
    other = cp.zeros(128 * 2**20, cp.uint8)
    for heads in HEADS:
        q, k, v = (random(cp, (heads, n, d), heads + i) for i in range(3))
        o, lse = poisoned(cp, q)
        for name, call in (("flash2.cuh", FLASH2.prepare(q, k, v, o, lse, False, 1 / math.sqrt(d))), ("PyTorch", sdpa(q, k, v, False, "FLASH_ATTENTION"))):
            times = []
            for _ in range(PAIRS):
                other += 1
                times.append(milliseconds(cp, call))
            ms = statistics.median(times[5:])
            work, moved = flops(heads, n, d, False), heads * n * (4 * d * 2 + 4)
            rows.append({"kernel": name, "heads": heads, "us": 1e3 * ms, "TFLOPs": work / ms / 1e9, "gb_s": moved / ms / 1e6, "flops_a_byte": work / moved})
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    asked = options(COMMAND, __doc__).parse_args(argv)
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    for name, measure in (("short_launches", short_launches), ("flash2_switches", switches)):
        print(record(cp, name, COMMAND, rounded(measure(cp)), asked.out, torch=torch.__version__), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
