"""Attention over keys that stay on the host: chunks travel through two buffers of the GPU while attention runs on the chunk before (chapter 21)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise import cp

State = tuple[Any, Any]  # O (rows, d) and LSE (rows) of the keys so far: arrays of the device


def attend(part: Callable[[Any, Any, int], State], K: np.ndarray, V: np.ndarray, size: int) -> State:
    """O and LSE of all keys. `part(K, V, n)` launches attention over the first n rows of two buffers (size, d) and returns (O, LSE).

    K, V: host arrays (Nk, d); they are copied in the background if their memory is pinned (`cp.cuda.alloc_pinned_memory`). The GPU holds two chunks of each.
    Raises ValueError for no keys or a size below 1.
    """
    if len(K) < 1 or size < 1:
        raise ValueError(f"attend streams chunks of {size} keys out of {len(K)}: pass at least one key, and a size of at least 1.")
    pairs = [[cp.empty((size, x.shape[1]), dtype=x.dtype) for x in (K, V)] for _ in range(2)]
    copying, working = cp.cuda.Stream(), cp.cuda.Stream()
    filled, free = ([cp.cuda.Event() for _ in range(2)] for _ in range(2))
    total: State | None = None
    for number, start in enumerate(range(0, len(K), size)):
        pair, b, n = pairs[number % 2], number % 2, min(size, len(K) - start)
        copying.wait_event(free[b])  # the kernel of two chunks ago is done with this pair
        for buffer, host in zip(pair, (K, V), strict=True):
            buffer[:n].set(host[start : start + n], stream=copying)
        copying.record(filled[b])
        working.wait_event(filled[b])  # the chunk is here
        with working:
            chunk = part(pair[0], pair[1], n)
            total = join(total, chunk) if total else chunk
        working.record(free[b])
    working.synchronize()
    assert total is not None
    return total


def join(a: State, b: State) -> State:
    """Attention over the keys of both, exactly: chapter 11's merge. A row that saw no key has O = 0 and LSE = -inf."""
    top = cp.maximum(a[1], b[1])
    base = cp.where(cp.isinf(top), cp.zeros_like(top), top)  # -inf - -inf would be NaN
    x, y = cp.exp(a[1] - base), cp.exp(b[1] - base)
    total = x + y
    whole = cp.where(total > 0, total, cp.ones_like(total))
    O = (x / whole)[:, None] * a[0] + (y / whole)[:, None] * b[0]  # noqa: E741
    return O, cp.where(total > 0, base + cp.log(whole), top)
