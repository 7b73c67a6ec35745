"""The first rung of the tensor-core product with its other element type: one line of the kernel decides."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt
from lanewise.listing import source

pytestmark = pytest.mark.slow  # a second


@pytest.mark.parametrize(("M", "N", "K"), [(1, 8, 8), (130, 120, 40), (128, 256, 64)])
def test_fp16(M: int, N: int, K: int) -> None:
    text = source("ch19_matmul_mma")
    assert text.count("using T = __nv_bfloat16;") == 1
    kernel = simt.compile(text.replace("using T = __nv_bfloat16;", "using T = __half;")).kernel("matmul_mma")
    rng = np.random.default_rng(M + N + K)
    A, B = rng.standard_normal((M, K)).astype(np.float16), rng.standard_normal((K, N)).astype(np.float16)
    C = np.empty((M, N), np.float32)
    report = kernel.launch((-(-N // 128), -(-M // 128)), 256, (A, B, simt.Output(C), np.int32(M), np.int32(N), np.int32(K)))
    assert report.ok, str(report)
    assert not np.abs(C - A.astype(np.float64) @ B).max() > 2.0**-23 * K * 5  # sums of K products, up to 5 or so after each of them
