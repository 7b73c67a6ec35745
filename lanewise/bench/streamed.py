"""Attention over keys that stay on the host (lanewise/streaming.py): copies alone, kernels alone, and both at once; results/<gpu>.json, table streamed.

64 query heads of 256 queries share one key head (d = 64, fp16); K and V lie in pinned host memory. While it runs, CuPy's pool is forbidden to hold as much as
K and V together, which stands for a GPU that is too small. The output is compared with float64 for fewer keys. Medians of 5 runs after a warm-up.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise import results, streaming
from lanewise.bench.layer import exact, random, relative
from lanewise.bench.record import options, record, rounded, sizes
from lanewise.rungs import FLASH2

COMMAND = "python -m lanewise.bench.streamed"
HEADS, QUERIES, D = 64, 256, 64
RUNS = 5


def pinned(keys: int, seed: int) -> np.ndarray:
    """(keys, 64) random fp16 in memory from which a GPU copies in the background; a block of 65,536 rows, repeated."""
    from lanewise.cp import real_cupy

    cp = real_cupy()
    array = np.frombuffer(cp.cuda.alloc_pinned_memory(keys * D * 2), np.float16, keys * D).reshape(keys, D)
    block = np.random.default_rng(seed).standard_normal((min(keys, 1 << 16), D), dtype=np.float32).astype(np.float16)
    for start in range(0, keys, len(block)):
        array[start : start + len(block)] = block[: keys - start]
    return array


def part_of(q: Any) -> Callable[[Any, Any, int], streaming.State]:
    """flash2 for all heads of q (HEADS, QUERIES, D) over the first n rows of two buffers; O as float32 (rows, D), LSE (rows)."""
    from lanewise.cp import real_cupy

    cp = real_cupy()

    def part(K: Any, V: Any, n: int) -> streaming.State:
        o, lse = cp.empty_like(q), cp.empty(q.shape[:2], cp.float32)
        FLASH2.prepare(q, K[None, :n], V[None, :n], o, lse, False, 1 / math.sqrt(D))()
        return o.reshape(-1, D).astype(cp.float32), lse.reshape(-1)

    return part


def error(keys: int, size: int) -> float:
    """Relative error (norm) of the streamed output against float64, of one head."""
    from lanewise.cp import real_cupy

    cp = real_cupy()
    q = random(cp, (HEADS, QUERIES, D), 0)
    K, V = pinned(keys, 1), pinned(keys, 2)
    O, _ = streaming.attend(part_of(q), K, V, size)  # noqa: E741
    right, _ = exact(cp, q[:1], cp.asarray(K)[None], cp.asarray(V)[None], False)
    return relative(cp, O[:QUERIES], right[0])


def milliseconds(call: Callable[[], Any]) -> float:
    """Median of RUNS, by the host's clock, with nothing left under way."""
    from lanewise.cp import real_cupy

    cp = real_cupy()
    times = []
    for _ in range(RUNS + 1):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[1:])


def measure(keys: int, sizes: Sequence[int]) -> list[results.Row]:
    from lanewise.cp import real_cupy

    cp = real_cupy()
    for some, size in ((1000, 128), (1000, 999), (1 << 15, 1 << 12)):
        if not (worst := error(some, size)) <= 2e-3:
            raise AssertionError(f"streamed attention is wrong for {some} keys in chunks of {size}: {worst}")
    q = random(cp, (HEADS, QUERIES, D), 0)
    K, V = pinned(keys, 1), pinned(keys, 2)
    limit = (K.nbytes + V.nbytes) // 2
    pool, part, rows = cp.get_default_memory_pool(), part_of(q), []
    pool.free_all_blocks()
    pool.set_limit(size=limit)
    try:
        for size in sizes:
            buffers = [cp.zeros((size, D), cp.float16) for _ in range(2)]
            chunks = range(0, keys, size)

            def copies(buffers: list[Any] = buffers, chunks: range = chunks, size: int = size) -> None:
                for start in chunks:
                    for buffer, host in zip(buffers, (K, V), strict=True):
                        n = min(size, keys - start)
                        buffer[:n].set(host[start : start + n], stream=cp.cuda.get_current_stream())

            def kernels(buffers: list[Any] = buffers, chunks: range = chunks, size: int = size) -> None:
                total = None
                for start in chunks:
                    chunk = part(buffers[0], buffers[1], min(size, keys - start))
                    total = streaming.join(total, chunk) if total else chunk

            alone, used = milliseconds(copies), milliseconds(kernels)
            both = milliseconds(functools.partial(streaming.attend, part, K, V, size))
            rows.append(
                {"chunk": size, "keys": keys, "host_bytes": K.nbytes + V.nbytes, "pool_bytes": limit, "copies_ms": alone, "kernels_ms": used,
                 "streamed_ms": both, "hidden": (alone + used - both) / min(alone, used)}
            )  # fmt: skip
            pool.free_all_blocks()
    finally:
        pool.set_limit(size=0)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--keys", type=int, default=1 << 22, help="keys on the host")
    parser.add_argument("--sizes", type=sizes, default="16384,65536,262144", help="keys of a chunk, separated by commas")
    asked = parser.parse_args(argv)
    from lanewise.cp import real_cupy

    cp = real_cupy()
    rows = rounded(measure(asked.keys, asked.sizes), 3)
    table = record(cp, "streamed", COMMAND, rows, asked.out)
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
