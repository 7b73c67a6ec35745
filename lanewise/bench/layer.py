"""The attention layer that all ladders time: its sizes and flops, random fp16 inputs, and the right answer in float64.

Arrays are CuPy's, of shape (heads, N, d); `cp` may be NumPy, too.
"""

from __future__ import annotations

import math
from typing import Any

TOKENS, WIDTH = 16384, 2048  # tokens of all sequences together; heads · d
RAGGED = ((1, 1), (65, 130), (130, 70), (200, 70), (333, 333))  # (Nq, Nk) on which a kernel is checked before it is timed


def heads(n: int, d: int) -> int:
    """(sequence, head) pairs of the layer for sequences of n tokens and heads of d columns."""
    return TOKENS // n * WIDTH // d


def flops(heads: int, n: int, d: int, causal: bool) -> int:
    """Of the two products forward; for a causal mask by the pairs that aren't masked."""
    return 4 * heads * (n * (n + 1) // 2 if causal else n * n) * d


def random(cp: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Normal numbers in fp16."""
    return cp.random.default_rng(seed).standard_normal(shape, dtype=cp.float32).astype(cp.float16)


def poisoned(cp: Any, q: Any) -> tuple[Any, Any]:
    """o like q, and log-sum-exp in float32, full of NaN."""
    return cp.full_like(q, cp.nan), cp.full(q.shape[:2], cp.nan, cp.float32)


def exact(cp: Any, q: Any, k: Any, v: Any, causal: bool) -> tuple[Any, Any]:
    """Attention and log-sum-exp in float64; keys' heads are repeated where they are fewer, masks are bottom-right aligned, a row without a key: 0 and −inf."""
    q, k, v = (x.astype("f8") for x in (q, k, v))
    p, lse = weights(cp, q, cp.repeat(k, q.shape[0] // k.shape[0], axis=0), causal)
    return p @ cp.repeat(v, q.shape[0] // v.shape[0], axis=0), lse


def weights(cp: Any, q: Any, k: Any, causal: bool) -> tuple[Any, Any]:
    """P (heads, Nq, Nk) and log-sum-exp (heads, Nq) of float64 arrays with as many heads."""
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    if causal:
        nq, nk = s.shape[1:]
        s = cp.where(cp.arange(nk) <= cp.arange(nq)[:, None] + nk - nq, s, -cp.inf)
    top = s.max(axis=-1, keepdims=True)
    top = cp.where(cp.isinf(top), 0, top)
    p = cp.exp(s - top)
    total = p.sum(axis=-1, keepdims=True)
    some = cp.where(total > 0, total, 1)
    return p / some, cp.where(total > 0, top + cp.log(some), -cp.inf)[..., 0]


def relative(cp: Any, got: Any, right: Any) -> float:
    """‖got − right‖ / ‖right‖; NaN if anything is not a number."""
    return float(cp.linalg.norm((got.astype("f8") - right).ravel())) / (float(cp.linalg.norm(right.ravel())) or 1.0)
