"""The tensor-core backward pass on the simulator: hostile shapes, both types, both head sizes, grouped heads, masked rows; no fault, 16-bit errors."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from lanewise import simt
from lanewise.bench.backward_ladder import KEYS, QUERIES, Br, exact, keys_bytes, queries_bytes

pytestmark = pytest.mark.slow  # seconds for all of them together

SHAPES = [
    (1, 1, 1, 1, False),
    (1, 1, 64, 128, False),
    (1, 1, 65, 130, False),
    (2, 2, 63, 127, False),
    (1, 1, 200, 130, True),  # 70 queries see no key
    (2, 2, 70, 150, True),
    (2, 1, 129, 129, True),
]


def wide(x: np.ndarray) -> np.ndarray:
    """float64 of float16, or of bfloat16 kept as uint16."""
    return x.astype(np.float64) if x.dtype == np.float16 else (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def narrow(x: np.ndarray, type: str) -> np.ndarray:
    """To float16, or to bfloat16 (cut off) as uint16."""
    return x.astype(np.float16) if type == "__half" else (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def weights(q: np.ndarray, k: np.ndarray, scale: float, causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """P and LSE in float64; a row without keys: 0 and −inf."""
    s = q @ k.transpose(0, 2, 1) * scale
    if causal:
        nq, nk = s.shape[1:]
        s = np.where(np.arange(nk) <= np.arange(nq)[:, None] + nk - nq, s, -np.inf)
    top = s.max(axis=-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(top), 0, top))
    total = p.sum(axis=-1, keepdims=True)
    some = np.where(total > 0, total, 1)
    return p / some, np.where(total > 0, top + np.log(some), -np.inf)[..., 0]


@lru_cache(maxsize=32)
def compiled(name: str) -> simt.Kernel:
    """One for all shapes: half of a small launch's time would be its translation."""
    return simt.compile("#include <flash2_backward.cuh>\n", names=(name,)).kernel(name)


class Problem:
    """Inputs in 16 bits, the forward pass's O and LSE, the gradients in float64, and room for the kernels' answers."""

    def __init__(self, type: str, heads: int, group: int, nq: int, nk: int, causal: bool, d: int):
        rng = np.random.default_rng([nq, nk, d])
        shapes = ((heads, nq, d), (heads // group, nk, d), (heads // group, nk, d), (heads, nq, d))
        self.q, self.k, self.v, self.do = (narrow(rng.standard_normal(shape), type) for shape in shapes)
        self.type, self.causal, self.scale = type, causal, np.float32(d**-0.5)
        self.sizes = (np.int32(nq), np.int32(nk), np.int32(group))
        q, k, v, do = (wide(x) for x in (self.q, self.k, self.v, self.do))
        keys, values = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
        p, lse = weights(q, keys, float(self.scale), causal)
        self.o, self.lse = narrow(p @ values, type), lse.astype(np.float32)
        ds = p * (do @ values.transpose(0, 2, 1) - (p @ values * do).sum(axis=-1, keepdims=True))
        dk, dv = (np.reshape(w.transpose(0, 2, 1) @ x, (-1, group, nk, d)).sum(axis=1) for w, x in ((ds, q), (p, do)))
        self.right = {"dQ": float(self.scale) * ds @ keys, "dK": float(self.scale) * dk, "dV": dv}
        tiles = -(-nq // Br)
        self.rows, self.sums = np.empty((heads, tiles * Br, 2), np.float32), np.empty((heads, tiles, 16 * d, 4), np.float32)
        self.got = {"dQ": np.empty_like(self.q), "dK": np.empty_like(self.k), "dV": np.empty_like(self.v)}

    def launch(self, name: str, grid: tuple[int, int], threads: int, arguments: list, shared: int = 0) -> simt.Report:
        kernel = compiled(name)
        if shared:
            kernel.max_dynamic_shared_size_bytes = shared
        report = kernel.launch(grid, threads, arguments, shared)
        assert report.ok, str(report)
        return report

    def run(self, with_dq: bool) -> dict[str, simt.Report]:
        """All kernels of one of the two ways; a report for each."""
        (heads, nq, d), (kv_heads, nk, _), type = self.q.shape, self.k.shape, self.type
        nq32, tiles, out, reports = self.sizes[0], -(-nq // Br), self.got, {}
        sums = simt.Output(self.sums) if with_dq else np.uintp(0)
        reports["rows"] = self.launch(f"backward_rows<{type}, {d}>", (tiles, heads), 256, [self.o, self.do, self.lse, simt.Output(self.rows), sums, nq32])
        tile = KEYS[d]
        inputs = [self.q, self.k, self.v, self.do, self.rows]
        reports["keys"] = self.launch(
            tile.name(d, self.causal, with_dq, type=type), (-(-nk // tile.rows), kv_heads), 32 * tile.warps,
            [*inputs, self.sums if with_dq else np.uintp(0), simt.Output(out["dK"]), simt.Output(out["dV"]), *self.sizes, self.scale],
            keys_bytes(d),
        )  # fmt: skip
        if with_dq:
            name = f"backward_convert<{type}, {d}>"
            reports["convert"] = self.launch(name, (tiles, heads), 128, [self.sums, simt.Output(out["dQ"]), nq32, self.scale], 128 * d)
            return reports
        tile = QUERIES[d]
        name = tile.name(d, self.causal, type=type)
        arguments = [*inputs, simt.Output(out["dQ"]), *self.sizes, self.scale]
        reports["queries"] = self.launch(name, (-(-nq // tile.rows), heads), 32 * tile.warps, arguments, queries_bytes(d))
        return reports


@pytest.mark.parametrize(("heads", "group", "nq", "nk", "causal"), SHAPES)
@pytest.mark.parametrize("type", ["__half", "__nv_bfloat16"])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("with_dq", [True, False], ids=["dq by addition", "dq in a pass of its own"])
def test_values(heads: int, group: int, nq: int, nk: int, causal: bool, type: str, d: int, with_dq: bool) -> None:
    problem = Problem(type, heads, group, nq, nk, causal, d)
    problem.run(with_dq)
    unit = 2.0**-11 if type == "__half" else 2.0**-7  # P, dS and the gradients are rounded to 16 bits; this test cuts bfloat16 off
    for name, right in problem.right.items():
        got = wide(problem.got[name])
        assert not np.linalg.norm(got - right) > 2 * unit * np.linalg.norm(right) + unit * 1e-2, name
    masked = np.isneginf(problem.lse)
    assert (wide(problem.got["dQ"])[masked] == 0).all()


def test_counted_products() -> None:
    """Five products of 2 Nq Nk d flops in one pass, seven in two."""
    products = {}
    for with_dq in (True, False):
        reports = Problem("__half", 1, 1, 128, 128, False, 64).run(with_dq)
        flops = reports["keys"].counters.flops + (0 if with_dq else reports["queries"].counters.flops)
        products[with_dq] = flops / (2 * 128 * 128 * 64)
    assert int(products[True]) == 5 and int(products[False]) == 7, products


@pytest.mark.parametrize("causal", [False, True])
def test_the_ladder_compares_with_the_right_gradients(causal: bool) -> None:
    """The ladder's float64 gradients, made on the GPU there, are those of this file."""
    problem = Problem("__half", 4, 2, 33, 20, causal, 64)
    o, lse, gradients = exact(np, problem.q, problem.k, problem.v, problem.do, causal)
    for got, right in zip(gradients, problem.right.values(), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(lse.astype(np.float32), problem.lse)
    assert np.array_equal(o.astype(np.float16), problem.o)


@pytest.mark.parametrize("d", [64, 128])
def test_an_sm_holds_the_blocks_it_is_to_hold(d: int) -> None:
    """228 KiB of shared memory an SM, 1 KiB of it taken by each block."""
    assert KEYS[d].blocks * (keys_bytes(d) + 1024) <= 228 * 1024
    assert QUERIES[d].blocks * (queries_bytes(d) + 1024) <= 228 * 1024
