"""The tensor-core forward on the simulator: hostile shapes, both types, both head sizes, grouped heads, masks; no fault, the errors of 16-bit inputs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from lanewise import simt

pytestmark = pytest.mark.slow  # seconds for all of them together

LOG2_ERROR = 2e-6  # of LSE: ex2.approx has 2 units in the last place


def attention(q, k, v, scale: float, causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """softmax(q kᵀ scale) v and log-sum-exp in float64; a row without keys: 0 and −inf."""
    s = q @ k.transpose(0, 2, 1) * scale
    if causal:
        nq, nk = s.shape[1:]
        s = np.where(np.arange(nk) <= np.arange(nq)[:, None] + nk - nq, s, -np.inf)
    top = s.max(axis=-1, keepdims=True)
    top = np.where(np.isinf(top), 0, top)
    p = np.exp(s - top)
    total = p.sum(axis=-1, keepdims=True)
    some = np.where(total > 0, total, 1)
    return np.where(total > 0, p @ v / some, 0), np.where(total > 0, top + np.log(some), -np.inf)[..., 0]


@pytest.mark.parametrize(
    ("heads", "group", "nq", "nk", "causal", "d", "Bc"),
    [(1, 1, 1, 1, False, 64, 128), (1, 1, 65, 130, False, 64, 64), (2, 2, 130, 70, False, 64, 64), (1, 1, 100, 100, True, 64, 128),
     (1, 1, 200, 70, True, 64, 64), (1, 1, 129, 150, True, 128, 64), (1, 1, 127, 129, False, 128, 64)],
)  # fmt: skip
@pytest.mark.parametrize("type", ["__half", "__nv_bfloat16"])
def test_values(type: str, heads: int, group: int, nq: int, nk: int, causal: bool, d: int, Bc: int) -> None:
    attend(f"{type}, {d}, {Bc}, {'true' if causal else 'false'}", type, heads, group, nq, nk, causal, d, Bc)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("Br", "warps", "Bc", "d"), [(64, 4, 32, 64), (64, 4, 64, 128), (64, 2, 64, 64), (128, 4, 32, 128), (128, 8, 32, 64), (128, 8, 128, 64), (128, 8, 64, 128)]
)
def test_other_tiles(Br: int, warps: int, Bc: int, d: int, causal: bool) -> None:
    for nq, nk in ((1, 1), (Br - 1, Bc + 1), (Br + 1, 2 * Bc - 1), (Br + 17, 9)):
        attend(f"__half, {d}, {Bc}, {'true' if causal else 'false'}, {Br}, {warps}", "__half", 2, 2, nq, nk, causal, d, Bc, Br, warps)


@lru_cache(maxsize=16)
def compiled(name: str) -> simt.Kernel:
    """One for all shapes: half of a small launch's time would be its translation."""
    return simt.compile("#include <flash2.cuh>\n", names=(name,)).kernel(name)


def attend(form: str, type: str, heads: int, group: int, nq: int, nk: int, causal: bool, d: int, Bc: int, Br: int = 128, warps: int = 4) -> None:
    """One launch of flash2<form>, its report and its values."""
    name = f"flash2<{form}>"
    kernel = compiled(name)
    kernel.max_dynamic_shared_size_bytes = shared = 2 * d * (Br + 2 * Bc)
    rng = np.random.default_rng(nq + nk)
    wide = [rng.standard_normal((h, n, d)).astype(np.float32) for h, n in ((heads, nq), (heads // group, nk), (heads // group, nk))]
    if type == "__half":
        q, k, v = (x.astype(np.float16) for x in wide)
        exact = [x.astype(np.float64) for x in (q, k, v)]
    else:
        q, k, v = ((x.view(np.uint32) >> 16).astype(np.uint16) for x in wide)
        exact = [(x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for x in (q, k, v)]
    o, lse = np.empty_like(q), np.empty((heads, nq), np.float32)
    args = [q, k, v, simt.Output(o), simt.Output(lse), np.int32(nq), np.int32(nk), np.int32(group), np.float32(d**-0.5)]
    report = kernel.launch((-(-nq // Br), heads), 32 * warps, args, shared)
    assert report.ok, str(report)
    right, right_lse = attention(exact[0], *(np.repeat(x, group, axis=0) for x in exact[1:]), d**-0.5, causal)
    got = o.astype(np.float64) if type == "__half" else (o.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    unit = 2.0**-11 if type == "__half" else 2.0**-8  # P and O are rounded to 16 bits
    assert not np.linalg.norm(got - right) > 2 * unit * np.linalg.norm(right) + 1e-30
    masked = np.isneginf(right_lse)
    assert (lse[masked] == -np.inf).all() and (got[masked] == 0).all()
    assert not np.abs(lse[~masked] - right_lse[~masked]).max(initial=0) > LOG2_ERROR * (1 + np.abs(right_lse[~masked]).max(initial=0))
