"""Attention over streamed keys is attention: any chunk, ragged ends, rows that a chunk shows nothing."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import cp, source, streaming

Q, K, V = (np.random.default_rng(n).standard_normal((n, 32), dtype=np.float32) for n in (5, 70, 71))
V = V[:70]


def exact(Q, K, V):
    """O and LSE in float64."""
    S = Q.astype(np.float64) @ K.T
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    return P @ V / P.sum(axis=1, keepdims=True), m[:, 0] + np.log(P.sum(axis=1))


def by_kernel(q):
    """Chapter 13's kernel over the first n keys of two buffers."""
    kernel = cp.RawKernel(source("ch13_flash_masked"), "flash_masked")

    def part(K, V, n):
        O, LSE = cp.empty((len(q), 32), dtype=cp.float32), cp.empty(len(q), dtype=cp.float32)  # noqa: E741
        kernel((1,), (64,), (q, K, V, O, LSE, np.int32(len(q)), np.int32(n), np.float32(1), np.int32(0), np.uintp(0)))
        return O, LSE

    return part


@pytest.mark.parametrize("size", [1, 32, 33, 69, 70, 100])
def test_any_chunk_gives_the_whole(size):
    O, LSE = streaming.attend(by_kernel(cp.asarray(Q)), K[-5:] if size == 1 else K, V[-5:] if size == 1 else V, size)  # noqa: E741
    right, lse = exact(Q, K[-5:], V[-5:]) if size == 1 else exact(Q, K, V)
    assert not np.abs(cp.asnumpy(O) - right).max() > 3e-5
    assert not np.abs(cp.asnumpy(LSE) - lse).max() > 3e-5


def test_the_gpu_holds_two_chunks_at_a_time():
    seen = []

    def part(K, V, n):
        seen.append((K.shape, n, K.data.ptr))
        return cp.zeros((1, 32), dtype=cp.float32), cp.zeros(1, dtype=cp.float32)

    streaming.attend(part, K, V, 16)
    assert [(shape, n) for shape, n, _ in seen] == [((16, 32), 16)] * 4 + [((16, 32), 6)]
    assert len({pointer for *_, pointer in seen}) == 2


def test_empty_halves_join_without_a_nan():
    inf = np.float32(-np.inf)
    a = cp.asarray(np.float32([[1], [1], [0], [0]])), cp.asarray(np.array([0, 300, inf, inf], np.float32))
    b = cp.asarray(np.float32([[3], [0], [3], [0]])), cp.asarray(np.array([0, inf, -300, inf], np.float32))
    O, LSE = streaming.join(a, b)  # noqa: E741
    np.testing.assert_allclose(cp.asnumpy(O)[:, 0], [2, 1, 3, 0])
    np.testing.assert_allclose(cp.asnumpy(LSE), [np.log(2), 300, -300, inf], rtol=1e-6)


@pytest.mark.parametrize(("keys", "size"), [(0, 4), (3, 0)])
def test_nothing_to_stream_is_refused(keys, size):
    with pytest.raises(ValueError, match="pass at least one key, and a size of at least 1"):
        streaming.attend(by_kernel(cp.asarray(Q)), K[:keys], V[:keys], size)
