"""What chapters 6 and 8 say about time: plausible benchmarks, matrix products, chains and loads under way; results/<gpu>.json, one table each.

Every kernel is the chapter's own. Where nothing else is said, a time is the median of launches, each between two events, after a warm-up. Outputs start
poisoned and are compared before a time is believed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench.record import options, record
from lanewise.names import find_course
from lanewise.simt.resources import occupancy

COMMAND = "python -m lanewise.bench.waiting"
WARM, TIMES = 3, 15
PRODUCTS = (  # name, key, entry, block, rows and columns of C a block makes
    ("naive", "ch07_matmul_naive", "matmul_naive", (32, 8), (8, 32)),
    ("tiles of 32", "ch07_matmul_tiled", "matmul_tiled", (32, 32), (32, 32)),
    ("8 x 8 a thread", "ch08_register_tile", "register_tile", (256,), (128, 128)),
)


def text_of(key: str) -> str:
    return find_course().kernel(find_course().any_kernel(key)).read_text(encoding="utf-8")


def milliseconds(cp: Any, work: Callable[..., Any], *arguments: Any) -> float:
    """The median of TIMES calls of `work(*arguments)`, each between two events."""
    for _ in range(WARM):
        work(*arguments)
    marks = [cp.cuda.Event() for _ in range(TIMES + 1)]
    for mark in marks[:-1]:
        mark.record()
        work(*arguments)
    marks[-1].record()
    marks[-1].synchronize()
    return float(np.median([cp.cuda.get_elapsed_time(a, b) for a, b in zip(marks[:-1], marks[1:], strict=True)]))


def sms(cp: Any) -> int:
    return int(cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"])


def believe(cp: Any, what: str, got: Any, want: Any, limit: float) -> None:
    """Raises RuntimeError where an element of `got` isn't within `limit` of `want`."""
    if not bool((cp.abs(got - want) <= limit).all()):
        raise RuntimeError(f"{what} gives wrong values: its time is worth nothing.")


def benchmarks(cp: Any, n: int = 1 << 24, steps: int = 500) -> list[results.Row]:
    """One kernel of chapter 6, `steps` multiply-adds for each of n elements, timed in plausible ways; TFLOP/s is what each way would claim."""
    text, y, grid = text_of("ch06_busy"), cp.full(n, np.nan, dtype=cp.float32), (n // 128,)
    arguments = (y, np.int32(steps))
    fresh = cp.RawKernel(f"{text}// compiled at {time.time_ns()}\n", "busy")

    def stopwatch(kernel: Any, wait: bool) -> float:
        began = time.perf_counter()
        kernel(grid, (128,), arguments)
        if wait:
            cp.cuda.Device().synchronize()
        return 1e3 * (time.perf_counter() - began)

    readings = {"first launch, waited for": stopwatch(fresh, True), "stopwatch without a wait": stopwatch(fresh, False)}
    cp.cuda.Device().synchronize()
    believe(cp, "busy", y, 2.0, 1e-6)
    unused = cp.RawKernel(text.replace("y[i] = v;", "y[i] = 1.0f;"), "busy")
    readings["the result unused"] = milliseconds(cp, unused, grid, (128,), arguments)
    readings["half of the blocks"] = milliseconds(cp, fresh, (n // 256,), (128,), arguments)
    readings["stopwatch with a wait"] = float(np.median([stopwatch(fresh, True) for _ in range(TIMES)]))
    readings["median by events"] = milliseconds(cp, fresh, grid, (128,), arguments)
    return [{"benchmark": name, "ms": round(ms, 3), "TFLOP/s claimed": round(2 * n * steps / ms / 1e9, 1)} for name, ms in readings.items()]


def cached_reads(cp: Any, sizes: Sequence[int] = (1 << 20, 1 << 22, 1 << 24, 1 << 27), rounds: int = 16) -> list[results.Row]:
    """Chapter 6's array read again and again: GB/s by the array's size."""
    kernel, rows = cp.RawKernel(text_of("ch06_read_again"), "read_again"), []
    for n in sizes:
        x, y = cp.ones(n, dtype=cp.float32), cp.full(n, np.nan, dtype=cp.float32)
        ms = milliseconds(cp, kernel, (n // 128,), (128,), (x, y, np.int32(n), np.int32(rounds)))
        believe(cp, "read_again", y, float(rounds), 0.0)
        rows.append({"MiB": 4 * n >> 20, "gb_s": round(4 * n * rounds / ms / 1e6, 1)})
    return rows


def matmul_ladder(cp: Any, n: int = 4096) -> list[results.Row]:
    """The products of chapters 7 and 8 on n × n matrices, and CuPy's own (cuBLAS, float32 without tensor cores)."""
    A, B = (cp.random.standard_normal((n, n), dtype=cp.float32) for _ in range(2))
    want, rows = cp.matmul(A, B), []
    for name, key, entry, block, (down, across) in PRODUCTS:
        kernel, C = cp.RawKernel(text_of(key), entry), cp.full((n, n), np.nan, dtype=cp.float32)
        arguments = (A, B, C, *(np.int32(n),) * 3)
        ms = milliseconds(cp, kernel, (n // across, n // down), block, arguments)
        believe(cp, name, C, want, n * 2.0**-24 * n)  # n roundings of sums of about n products of size 1 (their absolute values)
        warps = occupancy(kernel.num_regs, kernel.shared_size_bytes, math.prod(block)).warps
        rows.append({"product": name, "warps an SM": warps, "ms": round(ms, 2), "TFLOP/s": round(2 * n**3 / ms / 1e9, 1)})
    ms = milliseconds(cp, lambda: cp.matmul(A, B, out=want))
    return [*rows, {"product": "cuBLAS", "warps an SM": "-", "ms": round(ms, 2), "TFLOP/s": round(2 * n**3 / ms / 1e9, 1)}]


def chains(cp: Any, steps: int = 100_000) -> list[results.Row]:
    """Chapter 8's chains of multiply-adds: TFLOP/s by warps an SM and chains a thread, one block an SM."""
    rows, text, blocks = [], text_of("ch08_fma_chains"), sms(cp)
    y = cp.full(blocks * 1024, np.nan, dtype=cp.float32)
    for count in (1, 2, 4, 8):
        kernel = cp.RawKernel(text.replace("chains = 1", f"chains = {count}"), "fma_chains")
        for warps in (4, 8, 16, 32):
            ms = milliseconds(cp, kernel, (blocks,), (32 * warps,), (y, np.int32(steps)))
            believe(cp, "fma_chains", y[: blocks * 32 * warps], 2.0 * count, 1e-5)
            rows.append(
                {"warps an SM": warps, "chains": count, "in flight": warps * count, "TFLOP/s": round(64 * blocks * warps * count * steps / ms / 1e9, 1)}
            )
    return sorted(rows, key=lambda row: (row["in flight"], row["chains"]))


def loads(cp: Any, mib: int = 1024) -> list[results.Row]:
    """Chapter 8's reads of `mib` MiB: GB/s by warps an SM and loads under way in each thread."""
    rows, text, n4 = [], text_of("ch08_reads"), mib << 16
    x = cp.ones(4 * n4, dtype=cp.float32)
    for count in (1, 2, 4, 8):
        kernel = cp.RawKernel(text.replace("loads = 1", f"loads = {count}"), "reads")
        for blocks in (1, 2, 4, 8):
            y = cp.full(256 * blocks * sms(cp), np.nan, dtype=cp.float32)
            ms = milliseconds(cp, kernel, (y.size // 256,), (256,), (x, y, np.int32(n4)))
            believe(cp, "reads", y.sum(dtype=cp.float64), 4.0 * n4, 0.0)
            rows.append({"warps an SM": 8 * blocks, "loads": count, "KiB in flight": 4 * blocks * count, "gb_s": round(16 * n4 / ms / 1e6, 1)})
    return sorted(rows, key=lambda row: (row["KiB in flight"], row["loads"]))


TABLES: dict[str, Callable[[Any], list[results.Row]]] = {
    "benchmarks": benchmarks,
    "cached_reads": cached_reads,
    "matmul_ladder": matmul_ladder,
    "chains": chains,
    "loads_in_flight": loads,
}


def main(argv: Sequence[str] = ()) -> int:
    """Measure the tables on this machine's GPU and put them into its results file."""
    parser = options(COMMAND, __doc__)
    parser.add_argument("--only", choices=list(TABLES), help="measure one of the tables")
    asked = parser.parse_args(argv)
    from lanewise.cp import real_cupy

    cp = real_cupy()
    for name, measure in TABLES.items():
        if asked.only in (None, name):
            table = record(cp, name, COMMAND, measure(cp), asked.out, cuda=str(cp.cuda.runtime.runtimeGetVersion()))
            print(f"{table}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
