import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(height, width):
    """in: (height, width), out: (width, height), float32."""
    return lambda rng: {
        "in": rng.standard_normal((height, width), dtype=np.float32),
        "out": np.empty((width, height), np.float32),
        "height": np.int32(height),
        "width": np.int32(width),
    }


def launch(data):
    height, width = data["in"].shape
    return Launch((ceil_div(width, 32), ceil_div(height, 32)), (32, 32), "in out height width")


example = Example(
    title="Transpose, straight through",
    reference=lambda data: {"out": data["in"].T.astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("one element", data(1, 1), launch),
        Case("a tile", data(32, 32), launch),
        Case("64 rows of 96", data(64, 96), launch),
        Case("33 rows of 31", data(33, 31), launch),
    ),
)
