import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(n):
    """x, y: n float32, n a multiple of 4."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["x"].size, 1024), 256, "x y n")


example = Example(
    title="A copy by float4",
    reference=lambda data: {"y": data["x"].astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(Case("two blocks", data(2048), launch), Case("one float4", data(4), launch), Case("a ragged end", data(1004), launch)),
    budget=Budget("two blocks", "16 warps of 32 float4", global_load_requests=16, global_load_sectors=256, global_store_sectors=256),
)
