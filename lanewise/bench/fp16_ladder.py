"""FlashAttention-2 on tensor cores (kernels/flash2.cuh) beside PyTorch's FlashAttention-2; results/<gpu>.json, table fp16_ladder.

The protocol of fp32_ladder: one run, the same random fp16 tensors (16,384 tokens, heads · d = 2048), turns taken (A B B A), the median of the ratios
with its 95 % interval, outputs poisoned and compared with float64 in the same run. PyTorch's backward bookkeeping (LSE) is written by both.
"""

from __future__ import annotations

import argparse
import functools
import math
import platform
import statistics
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench.fp32_ladder import PAIRS, RAGGED, TOKENS, WIDTH, interval, milliseconds
from lanewise.names import find_course

COMMAND = "python -m lanewise.bench.fp16_ladder"
TILE = {64: 128, 128: 64}  # keys of a tile
ROWS = 128


@functools.cache
def flash2(d: int, causal: bool) -> Any:
    """The kernel for one head size and mask, ready to launch."""
    from lanewise.cp import real_cupy

    cp = real_cupy()
    name = f"flash2<__half, {d}, {TILE[d]}, {'true' if causal else 'false'}>"
    folder = find_course().root / "kernels"
    options = (f"-I{folder}", "--std=c++17")
    kernel = cp.RawModule(code="#include <flash2.cuh>\n", options=options, name_expressions=(name,)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = shared_bytes(d)
    return kernel


def shared_bytes(d: int) -> int:
    return 2 * d * (ROWS + 2 * TILE[d])


def attention(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool) -> None:
    """o, lse of CuPy arrays (heads, N, d) in fp16."""
    heads, nq, d = q.shape
    args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), np.int32(heads // k.shape[0]), np.float32(1 / math.sqrt(d)))
    flash2(d, causal)((-(-nq // ROWS), heads), (128,), args, shared_mem=shared_bytes(d))


def errors(cp: Any, d: int, nq: int, nk: int, causal: bool, heads: int = 2) -> tuple[float, float]:
    """Relative error (norm) against float64 of ours, on a poisoned output, and of rounding the exact answer to fp16."""
    rng = cp.random.default_rng(nq + nk + d)
    q, k, v = (rng.standard_normal((heads, n, d), dtype=cp.float32).astype(cp.float16) for n in (nq, nk, nk))
    o, lse = cp.full((heads, nq, d), cp.nan, cp.float16), cp.full((heads, nq), cp.nan, cp.float32)
    attention(q, k, v, o, lse, causal)
    s = q.astype("f8") @ k.astype("f8").transpose(0, 2, 1) / math.sqrt(d)
    if causal:
        s = cp.where(cp.arange(nk) <= cp.arange(nq)[:, None] + nk - nq, s, -cp.inf)
    top = s.max(axis=-1, keepdims=True)
    top = cp.where(cp.isinf(top), 0, top)
    p = cp.exp(s - top)
    total = p.sum(axis=-1, keepdims=True)
    right = cp.where(total > 0, p @ v.astype("f8") / cp.where(total > 0, total, 1), 0)
    scale = float(cp.linalg.norm(right.ravel())) or 1.0
    return float(cp.linalg.norm((o.astype("f8") - right).ravel())) / scale, float(cp.linalg.norm((right.astype("f2").astype("f8") - right).ravel())) / scale


def measure(sizes: Sequence[int]) -> list[results.Row]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    from lanewise.cp import real_cupy

    cp = real_cupy()
    for d in TILE:
        for nq, nk in RAGGED:
            for causal in (False, True):
                ours, _ = errors(cp, d, nq, nk, causal)
                if not ours <= 2e-3:
                    raise AssertionError(f"flash2 is wrong for d = {d}, Nq = {nq}, Nk = {nk}, causal = {causal}: {ours}")
    rows: list[results.Row] = []
    for d in TILE:
        for n in sizes:
            heads = TOKENS // n * WIDTH // d
            rng = cp.random.default_rng(n + d)
            q, k, v = (rng.standard_normal((heads, n, d), dtype=cp.float32).astype(cp.float16) for _ in range(3))
            o, lse = cp.full_like(q, cp.nan), cp.empty((heads, n), cp.float32)
            batched = [torch.from_dlpack(x)[None] for x in (q, k, v)]
            for causal in (False, True):
                work = 4 * heads * (n * (n + 1) // 2 if causal else n * n) * d

                def library(causal: bool = causal, batched: list[Any] = batched) -> Any:
                    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                        return scaled_dot_product_attention(*batched, is_causal=causal)

                mine = functools.partial(attention, q, k, v, o, lse, causal)
                mine()
                apart = float((torch.from_dlpack(o).float() - library()[0].float()).abs().max())
                if not apart <= 4e-3:
                    raise AssertionError(f"flash2 and PyTorch differ by {apart} for d = {d}, N = {n}, causal = {causal}")
                for _ in range(5):
                    mine(), library()
                a, b = [], []
                for turn in range(PAIRS):
                    if turn % 2:
                        y, x = milliseconds(cp, library), milliseconds(cp, mine)
                    else:
                        x, y = milliseconds(cp, mine), milliseconds(cp, library)
                    a.append(x)
                    b.append(y)
                ratios = [y / x for x, y in zip(a, b, strict=True)]
                low, high = interval(ratios)
                ms, theirs = statistics.median(a), statistics.median(b)
                rows.append(
                    {"d": d, "N": n, "heads": heads, "causal": causal, "ms": ms, "TFLOPs": work / ms / 1e9, "PyTorch": work / theirs / 1e9,
                     "ratio": statistics.median(ratios), "low": low, "high": high}
                )  # fmt: skip
            cp.get_default_memory_pool().free_all_blocks()
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="512,2048,4096,8192,16384", help="sequence lengths, separated by commas")
    parser.add_argument("--out", default="", help="another file instead of results/<gpu>.json")
    options = parser.parse_args(argv)
    import torch

    from lanewise.bench.memory_levels import driver_version
    from lanewise.cp import real_cupy

    cp = real_cupy()
    rows = [{key: round(x, 4) if isinstance(x, float) else x for key, x in row.items()} for row in measure([int(n) for n in options.sizes.split(",")])]
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    versions = {"cupy": cp.__version__, "torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()}
    table = results.Table("fp16_ladder", device, driver_version(), date.today().isoformat(), COMMAND, versions, rows)
    results.write(table, Path(options.out) if options.out else results.path_for(device))
    for r in rows:
        shape = f"d={r['d']} N={r['N']} causal={r['causal']}"
        print(f"{shape}: {r['TFLOPs']:.0f} against {r['PyTorch']:.0f} TFLOP/s, {r['ratio']:.3f} ({r['low']:.3f}..{r['high']:.3f})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
