import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(rows):
    """O, dO: (rows, 64), delta: (rows), float32."""
    return lambda rng: {
        "O": rng.standard_normal((rows, 64), dtype=np.float32),
        "dO": rng.standard_normal((rows, 64), dtype=np.float32),
        "delta": np.empty(rows, np.float32),
        "rows": np.int32(rows),
    }


def launch(data):
    return Launch(ceil_div(data["delta"].size, 4), 128, "O dO delta rows")


example = Example(
    title="delta: each row of dO times its row of O",
    reference=lambda data: {"delta": (data["O"].astype(np.float64) * data["dO"]).sum(axis=1)},
    atol=1e-5,  # 64 products of size 1 or so
    cases=(Case("2 blocks", data(8), launch), Case("one row", data(1), launch), Case("ragged", data(70), launch)),
    budget=Budget("2 blocks", "8 rows of O and of dO are 8 sectors each", global_load_sectors=8 * 2 * 8),
)
