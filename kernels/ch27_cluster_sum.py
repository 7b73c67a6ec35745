import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(rows, N):
    """x: (rows, N), total: (rows), float32."""
    return lambda rng: {"x": rng.uniform(0, 1, (rows, N)).astype(np.float32), "total": np.empty(rows, np.float32), "N": np.int32(N)}


example = Example(
    title="Four blocks share a row",
    reference=lambda data: {"total": data["x"].astype(np.float64).sum(axis=1)},
    cases=tuple(Case(f"{rows} rows of {N}", data(rows, N), Launch(4 * rows, 128, "x total N")) for rows, N in ((1, 512), (3, 1), (2, 1300))),
)
