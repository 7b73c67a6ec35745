import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths


def data(height, width):
    """a: (height), b: (width), out: (height, width), float32."""
    return lambda rng: {
        "a": rng.standard_normal(height, dtype=np.float32),
        "b": rng.standard_normal(width, dtype=np.float32),
        "out": np.empty((height, width), np.float32),
        "height": np.int32(height),
        "width": np.int32(width),
    }


def launch(data):
    height, width = data["out"].shape
    return Launch((ceil_div(width, 32), ceil_div(height, 8)), (32, 8), "a b out height width")


exercise = Exercise(
    title="A table of products: rows and columns",
    reference=lambda data: {"out": np.outer(data["a"].astype(np.float64), data["b"].astype(np.float64))},
    cases=(
        Case("8 rows of 32: one block, exactly", data(8, 32), launch),
        Case("20 rows of 50", data(20, 50), launch),
        Case("one element", data(1, 1), launch),
        Case("one long row", data(1, 100), launch),
        Case("one long column", data(100, 1), launch),
        Case("one row and column too many", data(9, 33), launch),
        Case("another shape", data(31, 65), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s), launch) for s in lengths(rng, 8, 32)],
    hints=(
        "x runs along a row, so .x gives the column and .y gives the row; each is `block * threads in a block + thread`, as in one dimension.",
        "Guard with `col < width && row < height`, and write to `out[row * width + col]`: there are `width` elements before each next row.",
    ),
)
