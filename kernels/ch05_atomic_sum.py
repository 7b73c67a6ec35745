import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(n):
    """x: (n) float32 between 0 and 1; total: (1) float32, to which the sum is added."""
    return lambda rng: {"x": rng.random(n, dtype=np.float32), "total": np.full(1, 2.0, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["x"].size, 256), 256, "x total n")


example = Example(
    title="A sum to which every thread adds its element",
    reference=lambda data: {"total": data["total"] + data["x"].sum(dtype=np.float64)},
    updates=("total",),
    rtol=6e-5,  # up to 1000 additions in any order, each off by at most 6e-8 of the sum so far
    cases=(
        Case("four blocks", data(1024), launch),
        Case("one element", data(1), launch),
        Case("a ragged end", data(1000), launch),
    ),
    budget=Budget("four blocks", "one addition an element", atomics=1024),
)
