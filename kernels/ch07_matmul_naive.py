import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(rows, cols, inner):
    """A: (rows, inner), B: (inner, cols), C: (rows, cols), float32."""
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
    return Launch((ceil_div(cols, 32), ceil_div(rows, 8)), (32, 8), "A B C rows cols inner")


example = Example(
    title="C = A B, straight from global memory",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=2e-5,  # at most 64 products of size 1: the sum so far reaches 20 or 30, and float32 keeps 6e-8 of it
    cases=(
        Case("one element", data(1, 1, 1), launch),
        Case("64 x 64 x 64", data(64, 64, 64), launch),
        Case("ragged on every side", data(9, 33, 5), launch),
    ),
    budget=Budget("64 x 64 x 64", "128 warps, 64 steps, a sector of A and four of B each", global_load_sectors=128 * 64 * 5, flops=2 * 64**3),
)
