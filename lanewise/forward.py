"""`lanewise.attention(q, k, v)`: exact attention by the best kernel of the course for this GPU, dtype and head size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lanewise.rungs import LADDER, Rung


def best_rung(capability: int, dtype: str, d: int) -> Rung:
    """The highest rung that runs; ValueError says what the rungs need."""
    for rung in LADDER:
        if rung.fits(capability, dtype, d):
            return rung
    needs = "; ".join(
        f"{r.name}: {' or '.join(r.dtypes)}, compute capability {'' if r.upwards else 'exactly '}{r.capability / 10:.1f}, "
        f"{r.shared_kb} KB of shared memory a block"
        for r in LADDER
    )
    raise ValueError(f"No kernel of the course computes {dtype} attention with heads of {d} on compute capability {capability / 10:.1f}. They are {needs}.")


def attention(q: Any, k: Any, v: Any, *, causal: bool = False, lse: bool = False, scale: float | None = None) -> Any:
    """softmax(q kᵀ · scale) v, exactly, in one pass over the keys.

    Args:
        q: (heads, Nq, d) or (batch, heads, Nq, d). k, v: (heads, Nk, d) or (batch, heads, Nk, d), with as many heads as q or a divisor of that
            (grouped queries: neighbouring query heads share a key head). CuPy arrays, or anything with DLPack on the GPU (PyTorch, JAX, Triton's inputs);
            float16 or bfloat16, or float32 (64 columns at most). d ≤ 128; sizes other than 64 and 128 are padded with zeros, by a copy.
        causal: query i sees keys up to i + Nk − Nq (bottom-right aligned; PyTorch's is_causal is top-left when Nq ≠ Nk).
        lse: also return the rows' log-sum-exp.
        scale: 1 / sqrt(d) when None.

    Returns:
        o, a CuPy array of q's shape and dtype; with `lse`, (o, LSE) with LSE float32 (…, heads, Nq), natural logarithm. A row that sees no key has
        o = 0 and LSE = −inf. Runs on CuPy's current stream. float32 inside; 16-bit kernels round P and o to the inputs' dtype.

    Raises:
        ValueError: shapes that don't belong together, or no kernel for this dtype, head size and GPU. TypeError: dtypes differ or aren't handled.
    """
    from lanewise import cp

    arrays = [x if isinstance(x, cp.ndarray) else cp.from_dlpack(x) for x in (q, k, v)]
    shape, group = _checked([x.shape for x in arrays])
    names = {x.dtype.name for x in arrays}
    if len(names) != 1:
        raise TypeError(f"q, k and v must have one dtype; they have {', '.join(sorted(names))}.")
    d, nq, nk = shape[-1], shape[-2], arrays[1].shape[-2]
    dtype = names.pop()
    wide = 64 if d <= 64 else 128
    rung = best_rung(int(cp.cuda.Device().compute_capability), dtype, wide)
    flat = [cp.ascontiguousarray(_padded(cp, x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:]), wide)) for x in arrays]
    heads = flat[0].shape[0]
    out, sums = cp.zeros((heads, nq, wide), flat[0].dtype), cp.full((heads, nq), -np.inf, np.float32)
    if heads and nq and nk:
        rung.prepare(*flat, out, sums, causal, 1 / math.sqrt(d) if scale is None else scale)()
    o = out[:, :, :d].reshape(shape)
    return (o, sums.reshape(shape[:-1])) if lse else o


def _checked(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """q's shape and how many query heads share a key head; ValueError in words."""
    q, k, v = shapes
    if len(q) not in (3, 4) or len(k) != len(q):
        raise ValueError(f"q, k and v must be (heads, N, d) or (batch, heads, N, d); their shapes are {q}, {k}, {v}.")
    if k != v:
        raise ValueError(f"k and v must have one shape; theirs are {k} and {v}.")
    if q[-1] != k[-1] or q[:-3] != k[:-3]:
        raise ValueError(f"q and k must agree in batch and in d; their shapes are {q} and {k}.")
    if not 0 < q[-1] <= 128:
        raise ValueError(f"The kernels take heads of 1 to 128 columns, not {q[-1]}.")
    if k[-3] == 0 or q[-3] % k[-3]:
        raise ValueError(f"The number of query heads, {q[-3]}, must be a multiple of the number of key heads, {k[-3]}.")
    return q, q[-3] // k[-3]


def _padded(cp: Any, x: Any, wide: int) -> Any:
    """x (heads, N, d) with zeros up to `wide` columns: they add nothing to a score, and o's are cut off."""
    if x.shape[-1] == wide:
        return x
    out = cp.zeros((*x.shape[:-1], wide), x.dtype)
    out[:, :, : x.shape[-1]] = x
    return out
