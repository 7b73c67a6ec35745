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
    return Launch((cols // 32, rows // 32), (32, 8), "A B C rows cols inner")


exercise = Exercise(
    title="The same flops for fewer bytes: four elements a thread",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=3e-5,  # at most 96 products of size 1: the sum so far reaches 30 or 40, and float32 keeps 6e-8 of it
    cases=(
        Case("64 x 64, inner 64", data(64, 64, 64), launch),
        Case("one tile", data(32, 32, 32), launch),
        Case("32 x 64, inner 96", data(32, 64, 96), launch),
        Case("another shape", data(96, 32, 64), launch, visible=False),
    ),
    budget=(
        Budget("64 x 64, inner 64", "4 blocks, 2 steps, two tiles of 128 sectors each, fetched once", global_load_sectors=4 * 2 * 2 * 128),
        Budget("64 x 64, inner 64", "64 x 64 sums of 64 products, as before", flops=2 * 64**3),
        Budget("64 x 64, inner 64", "two barriers a step, 4 blocks of 2 steps", barriers=4 * 2 * 2),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case("three unequal sides", data(*(32 * int(k) for k in rng.permutation((1, 2, 3)))), launch)],
    hints=(
        (
            "The loop over `piece` fetches the same tile of B four times. Which loop must go inside which, so that "
            "all four rows of a thread use it while it is there?"
        ),
        (
            "Four sums, `float sum[4] = {}`: in each step fill 32 rows of a and of b (four each), then for each k "
            "add to all four, and store four after the last step."
        ),
    ),
)
