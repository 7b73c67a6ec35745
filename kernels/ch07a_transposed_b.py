import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch


def data(rows, cols, inner):
    """A: (rows, inner), B: (cols, inner), C: (rows, cols), float32; multiples of 32."""
    return lambda rng: {
        "A": rng.standard_normal((rows, inner), dtype=np.float32),
        "B": rng.standard_normal((cols, inner), dtype=np.float32),
        "C": np.empty((rows, cols), np.float32),
        "rows": np.int32(rows),
        "cols": np.int32(cols),
        "inner": np.int32(inner),
    }


def launch(data):
    rows, cols = data["C"].shape
    return Launch((cols // 32, rows // 32), (32, 32), "A B C rows cols inner")


exercise = Exercise(
    title="A product with rows on both sides: A times B transposed",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64).T},
    atol=3e-5,  # at most 96 products of size 1: the sum so far reaches 30 or 40, and float32 keeps 6e-8 of it
    cases=(
        Case("64 x 64, inner 32", data(64, 64, 32), launch),
        Case("32 x 64, inner 64", data(32, 64, 64), launch),
        Case("64 x 32, inner 96", data(64, 32, 96), launch),
        Case("another shape", data(96, 32, 32), launch, visible=False),
    ),
    budget=(
        Budget("64 x 64, inner 32", "4 blocks, one step, two tiles of 128 sectors each", global_load_sectors=4 * 2 * 128),
        Budget(
            "64 x 64, inner 32",
            "4 blocks of 32 warps: one pass for each operand of the 32 products, one for each of the two stores",
            shared_load_wavefronts=4 * 32 * 32 * 2,
            shared_store_wavefronts=4 * 32 * 2,
        ),
    ),
    variation=lambda rng: [Case("three unequal sides", data(*(32 * int(k) for k in rng.permutation((1, 2, 3)))), launch)],
    hints=(
        "The lanes of a warp have different x. Which row of B does x stand for in the product, and which address do neighbouring lanes need in the load?",
        "Fill `b[y][x]` from row left + y of B, column start + x; add `a[y][k] * b[x][k]`. Column k of b is read by 32 lanes at once: give its rows 33 floats.",
    ),
)
