import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div


def data(N):
    """X, O: (N, 64), fp16, l: (N), float32, from 1 to 9."""
    return lambda rng: {
        "X": rng.standard_normal((N, 64), dtype=np.float32).astype(np.float16),
        "l": rng.uniform(1, 9, N).astype(np.float32),
        "O": np.empty((N, 64), np.float16),
        "N": np.int32(N),
    }


def launch(data):
    return Launch(ceil_div(len(data["X"]), 64), 64, (TensorMap("X", (64, 64), "128B"), "l", TensorMap("O", (64, 64), "128B"), "N"))


example = Example(
    title="Rows divided by a number each, loaded and stored by the copy engine",
    reference=lambda data: {"O": data["X"].astype(np.float64) / data["l"].astype(np.float64)[:, None]},
    rtol=2.0**-10,  # rounded to fp16
    atol=2.0**-24,  # small quotients are multiples of this
    cases=(
        Case("64 rows", data(64), launch),
        Case("one row", data(1), launch),
        Case("65 rows", data(65), launch),
        Case("150 rows", data(150), launch),
    ),
    budget=Budget("64 rows", "two boxes, one in and one out; the threads ask for l alone", tma_requests=2, global_load_requests=2, global_store_requests=0),
)
