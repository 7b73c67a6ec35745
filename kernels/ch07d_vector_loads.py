import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch


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
    return Launch((cols // 32, rows // 32), 256, "A B C rows cols inner")


exercise = Exercise(
    title="Sixteen bytes a lane: fewer requests for the same bytes",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=3e-5,  # at most 96 products of size 1: the sum so far reaches 30 or 40, and float32 keeps 6e-8 of it
    cases=(
        Case("64 x 64, inner 64", data(64, 64, 64), launch),
        Case("one tile", data(32, 32, 32), launch),
        Case("32 x 64, inner 96", data(32, 64, 96), launch),
        Case("another shape", data(96, 32, 64), launch, visible=False),
    ),
    budget=(
        Budget("64 x 64, inner 64", "4 blocks, 2 steps, 8 warps, a request for A and one for B", global_load_requests=4 * 2 * 8 * 2),
        Budget("64 x 64, inner 64", "4 blocks, 8 warps, one request each", global_store_requests=4 * 8),
        Budget("64 x 64, inner 64", "the bytes stay: 4 blocks, 2 steps, two tiles of 128 sectors each", global_load_sectors=4 * 2 * 2 * 128),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case("three unequal sides", data(*(32 * int(k) for k in rng.permutation((1, 2, 3)))), launch)],
    hints=(
        "A tile has 256 float4, a block 256 threads. Thread t takes float4 number q = t % 8 of row r = t / 8. Where does it lie in A, counted in floats?",
        (
            "`a[r][q] = *(const float4*)(A + row * inner + start + 4 * q);`, the same for B, and one float4 store "
            "for C. The starts are multiples of 16 bytes. Why?"
        ),
    ),
)
