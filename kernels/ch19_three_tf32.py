import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(K, size=1.0):
    """A: (16, K), B: (K, 8), C: (16, 8), float32, from 0 to `size`; K is a multiple of 8."""
    return lambda rng: {
        "A": np.float32(size) * rng.random((16, K), dtype=np.float32),
        "B": np.float32(size) * rng.random((K, 8), dtype=np.float32),
        "C": np.empty((16, 8), np.float32),
        "K": np.int32(K),
    }


launch = Launch(1, 32, "A B C K")

example = Example(
    title="float32 from three tf32 products on a tensor core",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"]},
    rtol=2.0**-18,  # of positive numbers: 3 additions a step, up to 8 steps, each cut off at 2**-23; one tf32 product alone would lose 2**-11
    atol=0.0,
    cases=(
        Case("one step", data(8), launch),
        Case("eight steps", data(64), launch),
        Case("size 1000", data(24, 1000), launch),
    ),
    budget=Budget("eight steps", "3 products of 16 x 8 x 64, and a subtraction for each of 6 elements a lane and step", flops=3 * 2 * 16 * 8 * 64 + 8 * 6 * 32),
)
