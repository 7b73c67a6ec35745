"""The tensor-core backward pass (kernels/flash2_backward.cuh) beside PyTorch's FlashAttention-2 and cuDNN; results/<gpu>.json, table backward_ladder.

The protocol of fp32_ladder: one run, the same random fp16 tensors (16,384 tokens, heads · d = 2048), turns taken (A B B A), the median of the ratios with
its 95 % interval. Times are those of all kernels that a gradient needs: delta, clearing dQ's sums, both products' passes, the conversion of dQ; flops are
counted as five products for every competitor (2.5 × the forward pass), also for the way with the same bits at every run, which computes seven.
Outputs are poisoned and compared with float64, errors with those of PyTorch's own gradients, in the same run.
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
from lanewise.bench.duel import PAIRS, Duel, launch_times
from lanewise.bench.layer import RAGGED, flops, poisoned, weights
from lanewise.bench.record import options, record, sizes
from lanewise.names import find_course
from lanewise.rungs import FLASH2

COMMAND = "python -m lanewise.bench.backward_ladder"
Br = 64  # queries of a tile
CHECKED = 512  # the length at which errors are compared with PyTorch's


@dataclass(frozen=True, slots=True)
class Tile:
    """A kernel's instantiation: `rows` (keys or queries) that a block owns, its warps, `sizes` of a warp's part, `blocks` that an SM is to hold."""

    kernel: str
    rows: int
    warps: int
    sizes: tuple[int, ...]
    blocks: int

    def name(self, d: int, *flags: bool, type: str = "__half") -> str:
        """As the compiler knows it: backward_keys<__half, 64, 4, 2, 32, true, true, 2>."""
        return f"{self.kernel}<{type}, {', '.join(str(x).lower() for x in (d, self.warps, *self.sizes, *flags, self.blocks))}>"


KEYS = {64: Tile("backward_keys", 128, 4, (2, 32), 2), 128: Tile("backward_pairs", 64, 4, (), 2)}
QUERIES = {64: Tile("backward_queries", 128, 4, (2, 64), 2), 128: Tile("backward_queries", 128, 4, (2, 32), 2)}


def keys_bytes(d: int) -> int:
    """Shared memory of backward_keys and backward_pairs: K, V; twice Q, dO, two numbers for each query and dS (or P and dS)."""
    keys = KEYS[d].rows
    return 4 * keys * d + 2 * (4 * Br * d + 2 * Br * keys + 8 * Br)


def queries_bytes(d: int) -> int:
    """Shared memory of backward_queries: Q, dO; twice K, V."""
    return 4 * QUERIES[d].rows * d + 8 * QUERIES[d].sizes[1] * d


class Backward:
    """dq, dk, dv of CuPy arrays (heads, N, d) in fp16, by additions to dQ (`one_pass`) or with the same bits at every run (`two_passes`)."""

    def __init__(self, d: int, causal: bool):
        from lanewise.cp import real_cupy

        self.d, self.cp = d, real_cupy()
        names = {
            "rows": f"backward_rows<__half, {d}>",
            "keys": KEYS[d].name(d, causal, True),
            "keys_alone": KEYS[d].name(d, causal, False),
            "queries": QUERIES[d].name(d, causal),
            "convert": f"backward_convert<__half, {d}>",
        }
        options = (f"-I{find_course().root / 'kernels'}", "--std=c++17")
        module = self.cp.RawModule(code="#include <flash2_backward.cuh>\n", options=options, name_expressions=tuple(names.values()))
        self.kernels = {short: module.get_function(name) for short, name in names.items()}
        for short, room in (("keys", keys_bytes(d)), ("keys_alone", keys_bytes(d)), ("queries", queries_bytes(d))):
            self.kernels[short].max_dynamic_shared_size_bytes = room

    def room(self, q: Any) -> tuple[Any, Any]:
        """The kernels' own arrays, poisoned: two numbers for each query, and dQ's sums."""
        heads, nq, d = q.shape
        tiles = -(-nq // Br)
        return self.cp.full((heads, tiles * Br, 2), np.nan, np.float32), self.cp.full((heads, tiles, 16 * d, 4), np.nan, np.float32)

    def one_pass(self, inputs: Sequence[Any], outputs: Sequence[Any], room: tuple[Any, Any]) -> None:
        """inputs: q, k, v, o, do, lse; outputs: dq, dk, dv."""
        q, (rows, sums) = inputs[0], room
        heads, nq, d = q.shape
        tiles = -(-nq // Br)
        self._rows(inputs, rows, sums)
        self._keys("keys", inputs, outputs, rows, sums)
        self.kernels["convert"]((tiles, heads), (128,), (sums, outputs[0], np.int32(nq), np.float32(1 / math.sqrt(d))), shared_mem=128 * d)

    def two_passes(self, inputs: Sequence[Any], outputs: Sequence[Any], room: tuple[Any, Any]) -> None:
        q, k, v, _, do, _ = inputs
        heads, nq, d = q.shape
        self._rows(inputs, room[0], np.uintp(0))
        self._keys("keys_alone", inputs, outputs, room[0], np.uintp(0))
        arguments = (q, k, v, do, room[0], outputs[0], *self._sizes(q, k))
        tile = QUERIES[d]
        self.kernels["queries"]((-(-nq // tile.rows), heads), (32 * tile.warps,), arguments, shared_mem=queries_bytes(d))

    def _rows(self, inputs: Sequence[Any], rows: Any, sums: Any) -> None:
        q, _, _, o, do, lse = inputs
        heads, nq, _ = q.shape
        self.kernels["rows"]((-(-nq // Br), heads), (256,), (o, do, lse, rows, sums, np.int32(nq)))

    def _keys(self, short: str, inputs: Sequence[Any], outputs: Sequence[Any], rows: Any, sums: Any) -> None:
        q, k, v, _, do, _ = inputs
        kv_heads, nk, d = k.shape
        arguments = (q, k, v, do, rows, sums, outputs[1], outputs[2], *self._sizes(q, k))
        self.kernels[short]((-(-nk // KEYS[d].rows), kv_heads), (32 * KEYS[d].warps,), arguments, shared_mem=keys_bytes(d))

    @staticmethod
    def _sizes(q: Any, k: Any) -> tuple[Any, ...]:
        heads, nq, d = q.shape
        return np.int32(nq), np.int32(k.shape[1]), np.int32(heads // k.shape[0]), np.float32(1 / math.sqrt(d))


@functools.cache
def backward(d: int, causal: bool) -> Backward:
    """The kernels for one head size and mask, ready to launch."""
    return Backward(d, causal)


def drawn(cp: Any, heads: int, kv_heads: int, nq: int, nk: int, d: int) -> list[Any]:
    """q, k, v, do in fp16, normal numbers."""
    rng = cp.random.default_rng(nq + nk + d)
    return [rng.standard_normal((h, n, d), dtype=cp.float32).astype(cp.float16) for h, n in ((heads, nq), (kv_heads, nk), (kv_heads, nk), (heads, nq))]


def exact(cp: Any, q: Any, k: Any, v: Any, do: Any, causal: bool) -> tuple[Any, Any, list[Any]]:
    """o, lse and [dq, dk, dv] in float64."""
    group, (nk, d) = q.shape[0] // k.shape[0], k.shape[1:]
    q, k, v, do = (x.astype("f8") for x in (q, k, v, do))
    keys, values = cp.repeat(k, group, axis=0), cp.repeat(v, group, axis=0)
    p, lse = weights(cp, q, keys, causal)
    o = p @ values
    ds = p * (do @ values.transpose(0, 2, 1) - (o * do).sum(axis=-1, keepdims=True)) / math.sqrt(d)
    collected = [(w.transpose(0, 2, 1) @ x).reshape(-1, group, nk, d).sum(axis=1) for w, x in ((ds, q), (p, do))]
    return o, lse, [ds @ keys, *collected]


def relative(cp: Any, got: Any, right: Any) -> float:
    """Norm of the error, as a part of the norm of the right gradient, or of numbers of 0.01 where that is smaller (with one key dQ is exactly 0)."""
    return float(cp.linalg.norm((got.astype("f8") - right).ravel())) / max(float(cp.linalg.norm(right.ravel())), 0.01 * math.sqrt(right.size))


def check_shapes(cp: Any) -> None:
    """Ragged shapes, grouped heads, queries without a key, both ways. Raises AssertionError."""
    for d in KEYS:
        for nq, nk in RAGGED:
            for causal in (False, True):
                q, k, v, do = drawn(cp, 4, 2, nq, nk, d)
                o, lse, right = exact(cp, q, k, v, do, causal)
                kernels, inputs = backward(d, causal), [q, k, v, o.astype("f2"), do, lse.astype("f4")]
                for way in (kernels.one_pass, kernels.two_passes):
                    outputs = [cp.full_like(x, cp.nan) for x in (q, k, v)]
                    way(inputs, outputs, kernels.room(q))
                    worst = max(relative(cp, got, want) for got, want in zip(outputs, right, strict=True))
                    if not worst <= 2e-3:
                        raise AssertionError(f"{way.__name__} is wrong for d = {d}, Nq = {nq}, Nk = {nk}, causal = {causal}: {worst}")


def library(arrays: Sequence[Any], causal: bool, name: str) -> Callable[[], Any]:
    """PyTorch's gradients by one of its backends, as a function to call again and again; its forward pass has run."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    *inputs, do = [torch.from_dlpack(x)[None] for x in arrays]
    for x in inputs:
        x.requires_grad_()
    with sdpa_kernel(getattr(SDPBackend, name)):
        out = scaled_dot_product_attention(*inputs, is_causal=causal)
    return lambda: torch.autograd.grad(out, inputs, do, retain_graph=True)


def errors(cp: Any, d: int, causal: bool) -> tuple[float, float]:
    """Largest relative error of dq, dk, dv against float64: ours, and PyTorch's FlashAttention-2."""
    q, k, v, do = drawn(cp, 4, 4, CHECKED, CHECKED, d)
    o, lse, right = exact(cp, q, k, v, do, causal)
    kernels, outputs = backward(d, causal), [cp.full_like(x, cp.nan) for x in (q, k, v)]
    kernels.one_pass([q, k, v, o.astype("f2"), do, lse.astype("f4")], outputs, kernels.room(q))
    theirs = [cp.from_dlpack(x[0].detach()) for x in library((q, k, v, do), causal, "FLASH_ATTENTION")()]
    return max(relative(cp, x, y) for x, y in zip(outputs, right, strict=True)), max(relative(cp, x, y) for x, y in zip(theirs, right, strict=True))


def measure(sizes: Sequence[int]) -> list[results.Row]:
    from lanewise.cp import real_cupy

    cp = real_cupy()
    check_shapes(cp)
    rows: list[results.Row] = []
    for d in KEYS:
        for causal in (False, True):
            error, theirs = errors(cp, d, causal)
            if not error <= 1.1 * theirs:
                raise AssertionError(f"The error {error} is above PyTorch's {theirs} for d = {d}, causal = {causal}")
            for n in sizes:
                heads = layer.heads(n, d)
                q, k, v, do = drawn(cp, heads, heads, n, n, d)
                o, lse = poisoned(cp, q)
                FLASH2.prepare(q, k, v, o, lse, causal, 1 / math.sqrt(d))()
                kernels, inputs = backward(d, causal), [q, k, v, o, do, lse]
                outputs, room = [cp.full_like(x, cp.nan) for x in (q, k, v)], kernels.room(q)
                calls: dict[str, Callable[[], Any]] = {
                    "ours": functools.partial(kernels.one_pass, inputs, outputs, room),
                    "PyTorch": library((q, k, v, do), causal, "FLASH_ATTENTION"),
                    "cuDNN": library((q, k, v, do), causal, "CUDNN_ATTENTION"),
                    "two_passes": functools.partial(kernels.two_passes, inputs, [cp.empty_like(x) for x in (q, k, v)], kernels.room(q)),
                }
                calls["ours"]()
                right = calls["PyTorch"]()
                for name, got, want in zip(("dq", "dk", "dv"), outputs, right, strict=True):
                    apart = relative(cp, got, cp.from_dlpack(want[0].detach()).astype("f8"))
                    if not apart <= 2e-3:
                        raise AssertionError(f"{name} and PyTorch's differ by {apart} of its norm for d = {d}, N = {n}, causal = {causal}")
                work = flops(heads, n, d, causal) * 5 // 2
                rows.append({"d": d, "N": n, "heads": heads, "causal": causal, **compared(cp, calls, work), "error": error, "PyTorch_error": theirs})
                cp.get_default_memory_pool().free_all_blocks()
    return rows


def compared(cp: Any, calls: dict[str, Callable[[], Any]], work: int) -> results.Row:
    """Times in turns, forwards and backwards; TFLOP/s of each and the ratio of the first to PyTorch's, with its interval."""
    times = dict(zip(calls, launch_times(cp, list(calls.values()), PAIRS), strict=True))
    fought = Duel.of(times["ours"], times["PyTorch"])
    speed = {name: work / statistics.median(each) / 1e9 for name, each in times.items()}
    return {
        "ms": fought.ms, "TFLOPs": speed["ours"], "PyTorch": speed["PyTorch"], "cuDNN": speed["cuDNN"], "same_bits": speed["two_passes"],
        "ratio": fought.ratio, "low": fought.low, "high": fought.high,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--sizes", type=sizes, default="512,2048,4096,8192,16384", help="sequence lengths, separated by commas")
    asked = parser.parse_args(argv)
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    rows = [{key: float(f"{x:.5g}") if isinstance(x, float) else x for key, x in row.items()} for row in measure(asked.sizes)]
    record(cp, "backward_ladder", COMMAND, rows, asked.out, torch=torch.__version__)
    for r in rows:
        shape = f"d={r['d']} N={r['N']} causal={r['causal']}"
        beside = f"PyTorch {r['PyTorch']:.0f}, cuDNN {r['cuDNN']:.0f}, same bits {r['same_bits']:.0f}"
        print(f"{shape}: {r['TFLOPs']:.0f} TFLOP/s; {beside}; {r['ratio']:.3f} ({r['low']:.3f}..{r['high']:.3f}) of PyTorch")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
