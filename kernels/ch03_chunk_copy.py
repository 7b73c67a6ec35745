import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(per):
    """x, y: 256 * per float32."""
    return lambda rng: {"x": rng.standard_normal(256 * per, dtype=np.float32), "y": np.empty(256 * per, np.float32), "per": np.int32(per)}


launch = Launch(2, 128, "x y per")

example = Example(
    title="A copy in which each thread has a chunk",
    reference=lambda data: {"y": data["x"].astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(Case("one element each", data(1), launch), Case("8 elements each", data(8), launch)),
    budget=Budget("one element each", "8 warps of 32 neighbours, 4 sectors each", global_load_sectors=32, global_store_sectors=32),
)
