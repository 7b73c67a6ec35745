import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(n):
    """x, y: n float32 each."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["y"].size, 128), 128, "x y n")


example = Example(
    title="Double every element: something to check and to time",
    reference=lambda data: {"y": 2.0 * data["x"].astype(np.float64)},
    rtol=0.0,
    atol=0.0,  # doubling is exact
    cases=(
        Case("one element", data(1), launch),
        Case("one short of a block", data(127), launch),
        Case("1000 elements", data(1000), launch),
    ),
)
