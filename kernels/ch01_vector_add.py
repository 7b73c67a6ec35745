import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(n):
    """a, b, c: n float32 each."""
    return lambda rng: {
        "a": rng.standard_normal(n, dtype=np.float32),
        "b": rng.standard_normal(n, dtype=np.float32),
        "c": np.empty(n, np.float32),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(ceil_div(data["c"].size, 256), 256, "a b c n")


example = Example(
    title="Vector add, one thread an element",
    reference=lambda data: {"c": data["a"].astype(np.float64) + data["b"]},
    cases=(
        Case("one element", data(1), launch),
        Case("one short of a block", data(255), launch),
        Case("a block", data(256), launch),
        Case("one more than a block", data(257), launch),
        Case("n = 1000", data(1000), launch),
    ),
)
