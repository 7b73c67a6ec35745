import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(rows, n):
    """x: (rows, n) int32, 0 .. 7; count: (8, n) int32."""
    return lambda rng: {
        "x": rng.integers(0, 8, (rows, n), dtype=np.int32),
        "count": np.empty((8, n), np.int32),
        "rows": np.int32(rows),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(data["x"].shape[1] // 128, 128, "x count rows n")


example = Example(
    title="Counts of 8 values, kept in local memory",
    reference=lambda data: {"count": np.array([(data["x"] == b).sum(axis=0) for b in range(8)])},
    cases=(Case("16 rows", data(16, 256), launch), Case("one row", data(1, 128), launch)),
)
