import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(rows, cols, inner):
    """A: (rows, inner), B: (inner, cols), C: (rows, cols), float32; multiples of 32."""
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
    return Launch((cols // 32, rows // 32), (32, 32), "A B C rows cols inner")


example = Example(
    title="C = A B through tiles of shared memory",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=3e-5,  # at most 96 products of size 1: the sum so far reaches 30 or 40, and float32 keeps 6e-8 of it
    cases=(
        Case("one tile", data(32, 32, 32), launch),
        Case("64 x 96, inner 64", data(64, 96, 64), launch),
        Case("32 x 64, inner 96", data(32, 64, 96), launch),
    ),
    budget=Budget(
        "64 x 96, inner 64",
        "6 blocks, 2 steps, two tiles of 128 sectors each",
        global_load_sectors=6 * 2 * 2 * 128,
        flops=2 * 64 * 96 * 64,
    ),
)
