import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


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


def with_infinity(rng):
    """One element of A is infinite: it belongs into one row of C alone."""
    made = data(16, 16, 15)(rng)
    made["A"][1, 0] = np.inf
    return made


def launch(data):
    rows, cols = data["C"].shape
    return Launch((ceil_div(cols, 16), ceil_div(rows, 16)), (16, 16), "A B C rows cols inner")


exercise = Exercise(
    title="Repair a product whose last tiles hang over the edges",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=2e-5,  # at most 48 products of size 1: the sum so far reaches 20 or 30, and float32 keeps 6e-8 of it
    cases=(
        Case("full tiles: 32 x 48, inner 32", data(32, 48, 32), launch),
        Case("one element, inner 1", data(1, 1, 1), launch),
        Case("inner one short of a tile", data(16, 16, 15), launch),
        Case("inner one more than a tile", data(16, 16, 17), launch),
        Case("an infinity in A", with_infinity, launch),
        Case("rows and columns one more", data(17, 33, 16), launch),
        Case("another shape", data(20, 13, 37), launch, visible=False),
    ),
    budget=Budget("full tiles: 32 x 48, inner 32", "6 blocks, 2 steps, two tiles of 32 sectors each", global_load_sectors=6 * 2 * 2 * 32),
    variation=lambda rng: [Case(f"shape {s}", data(*s), launch) for s in lengths(rng, 16, 16, 16)],
    hints=(
        "A thread past the last column of C has nothing to write. But who fills its place in the tile of A, which other threads read?",
        "Let every thread stay to the end. Store 0.0f where the tile hangs over A or B: a product with 0 changes no sum. Guard the store to C, not the loop.",
    ),
)
