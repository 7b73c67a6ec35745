import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(rows, cols, inner):
    """A: (rows, inner), B: (inner, cols), C: (rows, cols), float32; rows and cols multiples of 128, inner of 8."""
    return lambda rng: {
        "A": rng.standard_normal((rows, inner), dtype=np.float32),
        "B": rng.standard_normal((inner, cols), dtype=np.float32),
        "C": np.empty((rows, cols), np.float32),
        "rows": np.int32(rows),
        "cols": np.int32(cols),
        "inner": np.int32(inner),
    }


def launch(data):
    rows, cols = data["C"].shape
    return Launch((cols // 128, rows // 128), 256, "A B C rows cols inner")


example = Example(
    title="C = A B with 8 x 8 elements a thread",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=2e-5,  # at most 32 products of size 1: the sum so far reaches 20 or so, and float32 keeps 6e-8 of it
    cases=(
        Case("one step", data(128, 128, 8), launch),
        Case("4 blocks, inner 32", data(256, 256, 32), launch),
        Case("128 x 384, inner 24", data(128, 384, 24), launch),
    ),
    budget=Budget(
        "4 blocks, inner 32",
        "4 blocks, 4 steps: 128 x 8 of A and 8 x 128 of B, 128 sectors each; 8 warps, 8 k, two loads of two passes (a) and two of four (b)",
        global_load_sectors=4 * 4 * 2 * 128,
        shared_load_wavefronts=4 * 4 * 8 * 8 * 12,
        flops=2 * 256 * 256 * 32,
    ),
)
