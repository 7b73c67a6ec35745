import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(rows, n):
    """x: (n, rows), sum: (rows), float32."""
    return lambda rng: {"x": rng.random((n, rows), dtype=np.float32), "sum": np.empty(rows, np.float32), "rows": np.int32(rows), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["sum"].size, 32), 32, "x sum rows n")


example = Example(
    title="Sums in float32, to see how their error grows",
    reference=lambda data: {"sum": data["x"].astype(np.float64).sum(axis=0)},
    rtol=200 * 2.0**-24,  # as many roundings as there are numbers, each at most 2^-24 of the sum so far; none is negative
    atol=0.0,
    cases=(
        Case("nothing to add", data(1, 0), launch),
        Case("32 rows of 200", data(32, 200), launch),
        Case("33 rows of 7", data(33, 7), launch),
    ),
)
