"""numba's CUDA simulator over the two kernels of the comparison, in a process of its own.

    NUMBA_ENABLE_CUDASIM=1 python -m lanewise.bench.numba_kernels vector_add

Prints the seconds of one launch, after a warm-up of one block. It must be told to simulate before numba is imported, so it can't
live in the process that measures everything else; and it finds `cuda` only among a module's globals.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from numba import cuda, float32

TILE = 16


def vector_add(n: int = 65536) -> float:
    """Seconds for c = a + b over n float32 elements, 256 threads a block."""

    @cuda.jit
    def kernel(a, b, c, n):
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, n), dtype=np.float32)
    c = np.zeros(n, np.float32)
    kernel[1, 32](a, b, c, 32)
    began = time.perf_counter()
    kernel[n // 256, 256](a, b, c, n)
    seconds = time.perf_counter() - began
    assert np.array_equal(c, a + b)
    return seconds


def tiled_matmul(n: int = 64) -> float:
    """Seconds for C = A B of n × n float32, tiles of 16 × 16 in shared memory."""

    @cuda.jit
    def kernel(A, B, C, n):
        a = cuda.shared.array((TILE, TILE), float32)  # on a line of its own: numba's simulator knows an array by its line
        b = cuda.shared.array((TILE, TILE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx
        total = float32(0.0)
        for k0 in range(0, n, TILE):
            a[ty, tx] = A[row, k0 + tx]
            b[ty, tx] = B[k0 + ty, col]
            cuda.syncthreads()
            for k in range(TILE):
                total += a[ty, k] * b[k, tx]
            cuda.syncthreads()
        C[row, col] = total

    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, n, n), dtype=np.float32)
    C = np.zeros((n, n), np.float32)
    kernel[1, (TILE, TILE)](A, B, np.zeros_like(C), TILE)
    began = time.perf_counter()
    kernel[(n // TILE, n // TILE), (TILE, TILE)](A, B, C, n)
    seconds = time.perf_counter() - began
    assert np.allclose(C, A @ B, atol=1e-4)
    return seconds


if __name__ == "__main__":
    if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
        sys.exit("Set NUMBA_ENABLE_CUDASIM=1: this times numba's simulator, not a GPU.")
    print({"vector_add": vector_add, "tiled_matmul": tiled_matmul}[sys.argv[1]]())
