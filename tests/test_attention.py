"""lanewise.attention on the simulator: values, grouped heads, padded head sizes, LSE, and errors in words."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise
from lanewise import cp
from lanewise.forward import best_rung
from lanewise.rungs import section_of, tile3


def reference(q, k, v, causal: bool, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """float64, (…, heads, N, d); a row without keys: 0 and −inf."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    s = q @ np.swapaxes(k, -1, -2) * scale
    if causal:
        nq, nk = s.shape[-2:]
        s = np.where(np.arange(nk) <= np.arange(nq)[:, None] + nk - nq, s, -np.inf)
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), 0, top)
    p = np.exp(s - top)
    total = p.sum(axis=-1, keepdims=True)
    some = np.where(total > 0, total, 1)
    return np.where(total > 0, p @ v / some, 0), np.where(total > 0, top + np.log(some), -np.inf)[..., 0]


def inputs(q_shape, k_shape, dtype):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(dtype) for shape in (q_shape, k_shape, k_shape)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q_shape", "k_shape", "dtype", "causal"),
    [((2, 65, 64), (2, 70, 64), np.float16, False), ((1, 4, 33, 64), (1, 2, 50, 64), np.float16, True), ((1, 40, 80), (1, 40, 80), np.float16, True),
     ((2, 30, 32), (1, 47, 32), np.float32, False), ((1, 20, 64), (1, 7, 64), np.float16, True)],
)  # fmt: skip
def test_values(q_shape, k_shape, dtype, causal):
    q, k, v = inputs(q_shape, k_shape, dtype)
    o, lse = lanewise.attention(*(cp.asarray(x) for x in (q, k, v)), causal=causal, lse=True)
    right, right_lse = reference(q, k, v, causal, 1 / math.sqrt(q_shape[-1]))
    got, sums = cp.asnumpy(o), cp.asnumpy(lse)
    assert got.shape == q_shape and got.dtype == dtype and sums.shape == q_shape[:-1]
    unit = 2.0**-10 if dtype == np.float16 else 1e-6
    assert not np.linalg.norm(got - right) > unit * np.linalg.norm(right)
    none = np.isneginf(right_lse)
    assert (got[none] == 0).all() and (sums[none] == -np.inf).all()
    assert not np.abs(sums[~none] - right_lse[~none]).max() > 1e-5


def test_scale_and_no_keys():
    q, k, v = inputs((1, 5, 64), (1, 0, 64), np.float16)
    o, lse = lanewise.attention(*(cp.asarray(x) for x in (q, k, v)), lse=True)
    assert (cp.asnumpy(o) == 0).all() and (cp.asnumpy(lse) == -np.inf).all()
    q, k, v = inputs((1, 5, 64), (1, 9, 64), np.float16)
    right, _ = reference(q, k, v, False, 0.5)
    assert not np.linalg.norm(cp.asnumpy(lanewise.attention(*(cp.asarray(x) for x in (q, k, v)), scale=0.5)) - right) > 2.0**-10 * np.linalg.norm(right)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [(((2, 5, 64), (3, 5, 64), (3, 5, 64)), "multiple of the number of key heads, 3"), (((5, 64), (5, 64), (5, 64)), "must be (heads, N, d)"),
     (((1, 5, 64), (1, 5, 64), (1, 6, 64)), "one shape"), (((1, 5, 64), (1, 5, 32), (1, 5, 32)), "agree in batch and in d"),
     (((1, 5, 256), (1, 5, 256), (1, 5, 256)), "1 to 128 columns")],
)  # fmt: skip
def test_refused(shapes, says):
    with pytest.raises(ValueError, match=says.replace("(", r"\(").replace(")", r"\)")):
        lanewise.attention(*(cp.zeros(s, np.float16) for s in shapes))


def test_mixed_types():
    with pytest.raises(TypeError, match="float16, float32"):
        lanewise.attention(cp.zeros((1, 4, 64), np.float16), *(cp.zeros((1, 4, 64), np.float32) for _ in range(2)))


def test_which_rung():
    assert best_rung(90, "bfloat16", 128).name == "flash3"
    assert best_rung(100, "float16", 64).name == "flash2"  # wgmma is Hopper's alone
    assert best_rung(80, "float16", 64).name == "flash2"
    assert best_rung(90, "float32", 64).name == "flash_registers"
    assert best_rung(86, "bfloat16", 128).name == "flash2"
    with pytest.raises(ValueError, match="105 KB of shared memory a block"):
        best_rung(86, "float32", 64)  # an RTX 30's block has 99 KB
    with pytest.raises(ValueError, match="No kernel of the course computes float32 attention with heads of 128"):
        best_rung(90, "float32", 128)
    with pytest.raises(ValueError, match="compute capability 7.5"):
        best_rung(75, "float16", 64)


def test_tiles_fit_a_block():
    for d in (64, 128):
        for causal in (False, True):
            for nk in (1, 1024, 2048, 16384):
                assert tile3(d, causal, nk).shared_bytes(d) <= 232448 - 1024  # 227 KB, and 1 KB of barriers


def test_sections_are_powers_of_two_that_fit():
    assert section_of(16, 16384, 128, 1) == 4  # 8 MB of keys and values a head
    assert section_of(16, 16384, 128, 4) == 16
    assert section_of(5, 128, 64, 1) == 5
    assert section_of(8, 1 << 20, 128, 1) == 1
