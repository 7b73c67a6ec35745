import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(n, stride):
    """x: ((n - 1) * stride + 1), y: (n), float32."""
    return lambda rng: {
        "x": rng.standard_normal((n - 1) * stride + 1, dtype=np.float32),
        "y": np.empty(n, np.float32),
        "n": np.int32(n),
        "stride": np.int32(stride),
    }


def launch(data):
    return Launch(ceil_div(data["y"].size, 256), 256, "x y n stride")


example = Example(
    title="Every so many elements",
    reference=lambda data: {"y": data["x"][:: int(data["stride"])].astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("neighbours", data(512, 1), launch),
        Case("every third", data(500, 3), launch),
        Case("one element", data(1, 32), launch),
        Case("every 32nd", data(512, 32), launch),
    ),
    budget=Budget("neighbours", "16 warps, 4 sectors each", global_load_sectors=64, global_store_sectors=64),
)
