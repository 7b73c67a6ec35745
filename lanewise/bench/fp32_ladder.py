"""FlashAttention in float32 without tensor cores, rung by rung, beside PyTorch's float32 attention; results/<gpu>.json, table fp32_ladder.

One run for all: the same tensors (random, 16,384 tokens, heads · d = 2048), each kernel timed alternately with PyTorch's memory-efficient attention
(A B B A, after a warm-up), the median of the ratios with its 95 % interval. Outputs start poisoned and are compared with float64 in the same run.
FLOP/s by 4·heads·Nq·Nk·d, for causal masks by the pairs that aren't masked. PyTorch's is_causal is top-left aligned, ours bottom-right: equal for Nq = Nk.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench import layer
from lanewise.bench.duel import PAIRS, Duel, launch_times
from lanewise.bench.layer import RAGGED, exact, flops
from lanewise.bench.libraries import sdpa
from lanewise.bench.record import options, record, rounded, sizes
from lanewise.names import find_course

COMMAND = "python -m lanewise.bench.fp32_ladder"
D = 64


class Rung:
    """A kernel of the course as a function of (q, k, v, o, lse, causal), CuPy arrays of shape (heads, N, 64)."""

    def __init__(self, key: str, entry: str, rows: int, shared: int, takes_causal: bool):
        from lanewise.cp import real_cupy

        self.cp = real_cupy()
        source = (find_course().root / "kernels" / f"{key}.cu").read_text(encoding="utf-8")
        self.key, self.rows, self.shared, self.takes_causal = key, rows, shared, takes_causal
        self.kernel = self.cp.RawKernel(source, entry, options=("-arch=sm_90a",) if self.cp.cuda.Device().compute_capability == "90" else ())
        if shared > 48 * 1024:
            self.kernel.max_dynamic_shared_size_bytes = shared

    def __call__(self, q, k, v, o, lse, causal: bool) -> None:
        heads, nq, _ = q.shape
        last = np.int32(causal) if self.takes_causal else np.uintp(0)
        args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), np.float32(1 / math.sqrt(D)), last)
        self.kernel((-(-nq // self.rows), heads), (128,), args, shared_mem=self.shared)


def rungs() -> list[Rung]:
    return [Rung("ch12_flash_forward", "flash_forward", 32, 0, False), Rung("ch12_flash_registers", "flash_registers", 128, 107520, True)]


def error(cp, rung: Rung, heads: int, nq: int, nk: int, causal: bool) -> float:
    """Largest relative error (norm of a head) against float64, on a poisoned output; NaN if anything is not a number."""
    rng = cp.random.default_rng(nq + nk)
    q, k, v = (rng.standard_normal((heads, n, D), dtype=cp.float32) for n in (nq, nk, nk))
    o, lse = cp.full((heads, nq, D), cp.nan, cp.float32), cp.full((heads, nq), cp.nan, cp.float32)
    rung(q, k, v, o, lse, causal)
    right, _ = exact(cp, q, k, v, causal)
    difference = cp.sqrt(((o.astype("f8") - right) ** 2).sum(axis=(1, 2)))
    scale = cp.sqrt((right**2).sum(axis=(1, 2)))
    return float((difference / cp.where(scale > 0, scale, 1)).max())


def measure(sizes: Sequence[int]) -> list[results.Row]:
    from lanewise.cp import real_cupy

    cp = real_cupy()
    rows: list[results.Row] = []
    for rung in rungs():
        for nq, nk in RAGGED:
            for causal in (False, True) if rung.takes_causal else (False,):
                if not error(cp, rung, 2, nq, nk, causal) <= 1e-5:
                    raise AssertionError(f"{rung.key} is wrong for Nq = {nq}, Nk = {nk}, causal = {causal}")
    for n in sizes:
        heads = layer.heads(n, D)
        rng = cp.random.default_rng(n)
        q, k, v = (rng.standard_normal((heads, n, D), dtype=cp.float32) for _ in range(3))
        o, lse = cp.empty_like(q), cp.empty((heads, n), cp.float32)
        for causal in (False, True):
            work = flops(heads, n, D, causal)
            base = sdpa(q, k, v, causal, "EFFICIENT_ATTENTION")
            others: list[tuple[str, Callable[[], Any]]] = [("PyTorch math", sdpa(q, k, v, causal, "MATH"))] if n <= 4096 else []
            others += [(r.key, functools.partial(r, q, k, v, o, lse, causal)) for r in rungs() if r.takes_causal or not causal]
            base_times: list[float] = []
            for name, call in others:
                mine, theirs = launch_times(cp, [call, base], PAIRS if name.startswith("ch") else 10)
                base_times += theirs
                fought = Duel.of(mine, theirs)
                rows.append(
                    {"kernel": name, "N": n, "heads": heads, "causal": causal, "ms": fought.ms, "TFLOPs": work / fought.ms / 1e9,
                     "of_efficient": fought.ratio, "low": fought.low, "high": fought.high}
                )  # fmt: skip
            ms = statistics.median(base_times)
            shape = {"N": n, "heads": heads, "causal": causal}
            rows.append({"kernel": "PyTorch efficient", **shape, "ms": ms, "TFLOPs": work / ms / 1e9, "of_efficient": 1.0, "low": 1.0, "high": 1.0})
            cp.get_default_memory_pool().free_all_blocks()
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--sizes", type=sizes, default="512,1024,2048,4096,8192,16384", help="sequence lengths, separated by commas")
    asked = parser.parse_args(argv)
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    rows = rounded(measure(asked.sizes))
    table = record(cp, "fp32_ladder", COMMAND, rows, asked.out, torch=torch.__version__)
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
