import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch


def data(rows, cols, inner):
    """A: (rows, inner), B: (inner, cols), C: (rows, cols), float32; rows and cols multiples of 64, inner of 16."""
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
    return Launch((cols // 64, rows // 64), 256, "A B C rows cols inner")


exercise = Exercise(
    title="C = A B with 4 x 4 elements a thread",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=2e-5,  # at most 48 products of size 1: the sum so far reaches 20 or 30, and float32 keeps 6e-8 of it
    cases=(
        Case("one block, inner 32", data(64, 64, 32), launch),
        Case("64 x 128, inner 16", data(64, 128, 16), launch),
        Case("128 x 64, inner 48", data(128, 64, 48), launch),
        Case("another shape", data(128, 128, 32), launch, visible=False),
    ),
    budget=(
        Budget("one block, inner 32", "2 steps, 8 warps, 16 k: one float4 of a, one of b", shared_load_requests=2 * 8 * 16 * 2),
        Budget("one block, inner 32", "8 warps, four rows", global_store_requests=8 * 4),
    ),
    variation=lambda rng: [Case("unequal sides", data(*(64 * int(k) for k in rng.permutation((1, 2))), 16 * int(rng.integers(1, 4))), launch)],
    hints=(
        (
            "Column k of A's piece is row k of a. Which four floats of it belong to your rows, which four of b's "
            "row k to your columns? Read them once, use them 16 times."
        ),
        (
            "`*(const float4*)&a[k][y]` and `*(const float4*)&b[k][x]`; then sum[i][j] += (float i of the first) * "
            "(float j of the second). Write each row as a float4."
        ),
    ),
)
