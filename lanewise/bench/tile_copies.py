"""Who moves the tiles: chapter 25's kernels over a large K, tiles brought by threads, by TMA, by a ring; results/<gpu>.json, table tile_copies."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench.record import options, record
from lanewise.names import find_course

COMMAND = "python -m lanewise.bench.tile_copies"
KEYS = 1 << 21  # 256 MiB of K: more than an L2 cache holds
SETS = 9  # of LAUNCHES launches; the median counts
LAUNCHES = 10
BLOCKS_AN_SM = (1, 2, 4, 8)  # of the ring


def launches(cp: Any, n: int, sms: int) -> Iterator[tuple[str, int, Any, Any]]:
    """(kernel, grid, its first argument, its function) for n keys; the ring with so many blocks for each of `sms` multiprocessors."""
    K = cp.asarray(np.random.default_rng(25).standard_normal((n, 64), dtype=np.float32).astype(np.float16))
    kernels = {}
    for name in ("query_copied", "query_tile", "query_ring"):
        text = (find_course().kernels_dir / f"ch25_{name}.cu").read_text(encoding="utf-8")
        kernels[name] = cp.RawKernel(text, name)
    yield "query_copied", -(-n // 64), K, kernels["query_copied"]
    yield "query_tile", -(-n // 64), cp.tensor_map(K, (64, 64)), kernels["query_tile"]
    ring = cp.tensor_map(K, (64, 64), swizzle="128B")
    for blocks in BLOCKS_AN_SM:
        yield "query_ring", blocks * sms, ring, kernels["query_ring"]


def tile_copies(cp: Any, n: int = KEYS, sms: int = 132) -> list[results.Row]:
    """A row a launch: its grid and the bytes of K it reads in a second. Raises RuntimeError where its scores are wrong."""
    q, start, stop = np.random.default_rng(26).standard_normal(64, dtype=np.float32), cp.cuda.Event(), cp.cuda.Event()
    on_device, rows, right = cp.asarray(q), [], None
    for name, blocks, first, kernel in launches(cp, n, sms):
        S = cp.full(n, np.nan, dtype=cp.float32)
        args = (first, on_device, S, np.int32(n))
        readings = []
        for attempt in range(SETS + 1):  # the first one warms up
            start.record()
            for _ in range(LAUNCHES if attempt else 1):
                kernel((blocks,), (64,), args)
            stop.record()
            stop.synchronize()
            readings.append(cp.cuda.get_elapsed_time(start, stop) / LAUNCHES)
        got = cp.asnumpy(S)
        if right is None:
            right = cp.asnumpy(first).astype(np.float32) @ q
        if not np.allclose(got, right, atol=1e-4):
            raise RuntimeError(f"{name} with {blocks} blocks gives wrong scores: its time is worth nothing.")
        rate = round(n * 128 / float(np.median(readings[1:])) / 1e6)
        rows.append({"kernel": name, "blocks": blocks, "gb_s": rate})
        print(f"{name:14} {blocks:7,} blocks {rate:8,} GB/s", flush=True)
    return rows


def main(argv: Sequence[str] = ()) -> int:
    """Measure the table on this machine's GPU and put it into its results file."""
    asked = options(COMMAND, __doc__).parse_args(argv)
    from lanewise import cp

    properties = cp.cuda.runtime.getDeviceProperties(0)
    if properties["major"] < 9:
        print("The copy engine came with Hopper (compute capability 9.0): this GPU has none.")
        return 1
    record(cp, "tile_copies", COMMAND, tile_copies(cp, sms=properties["multiProcessorCount"]), asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
