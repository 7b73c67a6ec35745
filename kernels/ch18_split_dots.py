import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(count, n):
    """A, B: (n, count), from 0 to 1; out: (3, count), float32."""
    return lambda rng: {
        "A": rng.random((n, count), dtype=np.float32),
        "B": rng.random((n, count), dtype=np.float32),
        "out": np.empty((3, count), np.float32),
        "count": np.int32(count),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(ceil_div(data["out"].shape[1], 64), 64, "A B out count n")


def tf32(x):
    """float32 numbers with 10 bits of fraction, rounded to nearest."""
    return ((x.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)


def reference(data):
    """Exact sums: of the numbers, of the rounded numbers, of the numbers again (three products lose no more than 2**-22 of each)."""
    A, B = data["A"], data["B"]
    exact = (A.astype(np.float64) * B).sum(axis=0)
    return {"out": np.stack([exact, (tf32(A).astype(np.float64) * tf32(B)).sum(axis=0), exact])}


example = Example(
    title="float32 from three tf32 products",
    reference=reference,
    rtol=100 * 3 * 2.0**-24,  # up to 100 positive numbers, three additions each
    cases=(
        Case("a hundred numbers", data(70, 100), launch),
        Case("one number", data(1, 1), launch),
    ),
    budget=Budget("a hundred numbers", "5 multiply-adds and 2 subtractions a number", flops=70 * 100 * 12),
)
