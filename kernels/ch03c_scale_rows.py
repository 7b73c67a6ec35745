import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(rows, cols):
    """x, y: (rows, cols) float32; factor: float32."""
    return lambda rng: {
        "x": rng.standard_normal((rows, cols), dtype=np.float32),
        "factor": np.float32(0.5),
        "y": np.empty((rows, cols), np.float32),
        "rows": np.int32(rows),
        "cols": np.int32(cols),
    }


def launch(data):
    rows, cols = data["x"].shape
    return Launch(ceil_div(rows * ceil_div(cols, 4), 128), 128, "x factor y rows cols")


exercise = Exercise(
    title="Repair a float4 that begins where no float4 may begin",
    reference=lambda data: {"y": data["x"].astype(np.float64) * float(data["factor"])},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("8 rows of 64", data(8, 64), launch),
        Case("33 rows of 35", data(33, 35), launch),
        Case("one element", data(1, 1), launch),
        Case("two rows of 3", data(2, 3), launch),
        Case("one row of 129", data(1, 129), launch),
        Case("another shape", data(7, 50), launch, visible=False),
    ),
    budget=(
        Budget("8 rows of 64", "512 floats are 128 float4, 4 requests of 32", global_load_requests=4, global_store_requests=4),
        Budget("33 rows of 35", "1155 floats are 288 float4, 9 requests, and 3 floats, 3 more at most", global_load_requests=12, global_store_requests=12),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s), launch) for s in lengths(rng, 8, 64)],
    hints=(
        "A float4 must begin at a multiple of 4 floats. Row 1 of a matrix with 35 columns begins at float 35. But does this kernel care where rows begin?",
        "Take the matrix for one array of n = rows * cols floats: thread q has floats 4 q .. 4 q + 3, as a float4 if all are below n, one by one if not.",
    ),
)
