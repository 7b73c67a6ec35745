import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(rng):
    """x: (8, 8), rows and columns: (32, 2), uint16."""
    return {
        "x": rng.integers(0, 1 << 16, (8, 8), dtype=np.uint16),
        "rows": np.empty((32, 2), np.uint16),
        "columns": np.empty((32, 2), np.uint16),
    }


example = Example(
    title="What ldmatrix gives each lane",
    reference=lambda data: {"rows": data["x"].reshape(32, 2), "columns": data["x"].T.reshape(32, 2)},
    cases=(Case("one matrix", data, Launch(1, 32, "x rows columns")),),
)
