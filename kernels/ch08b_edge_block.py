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


def launch(data):
    rows, cols = data["C"].shape
    return Launch((ceil_div(cols, 64), ceil_div(rows, 64)), 256, "A B C rows cols inner")


exercise = Exercise(
    title="Repair a register tile that writes past its edges",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    atol=2e-5,  # at most 17 products of size 1: the sum so far reaches 10 or 20, and float32 keeps 6e-8 of it
    cases=(
        Case("one full block, inner 16", data(64, 64, 16), launch),
        Case("one element", data(1, 1, 1), launch),
        Case("a row of 7", data(1, 7, 8), launch),
        Case("7 rows of one", data(7, 1, 3), launch),
        Case("one more than a block each way", data(65, 65, 9), launch),
        Case("another shape", data(30, 67, 17), launch, visible=False),
    ),
    budget=Budget("one full block, inner 16", "8 warps, 2 steps of 8 k, at most 8 floats a lane for 16 products", shared_load_requests=8 * 2 * 8 * 8),
    variation=lambda rng: [Case(f"shape {s}", data(*s), launch) for s in lengths(rng, 64, 64, 16)],
    hints=(
        (
            "Look at cols = 7 and the thread with x = 4: its columns are 4, 5, 6 and 7. What does the guard know "
            "about column 7, and whose element lies at row * 7 + 7?"
        ),
        "Ask for each of the 16 elements: `if (row < rows && col < cols)` inside both loops, with row = top + y + i and col = left + x + j.",
    ),
)
