import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(N, width, shape=lambda x: x):
    """x: (N, width), fp16, m: (N), float32. `shape` makes other rows of x."""
    return lambda rng: {
        "x": shape(rng.standard_normal((N, width), dtype=np.float32)).astype(np.float16),
        "m": np.empty(N, np.float32),
        "N": np.int32(N),
        "width": np.int32(width),
    }


def launch(data):
    return Launch(ceil_div(len(data["x"]), 64), 64, (TensorMap("x", (64, 64), "128B"), "m", "N", "width"))


exercise = Exercise(
    title="Which phase is this?",
    reference=lambda data: {"m": data["x"].astype(np.float64).max(axis=1)},
    rtol=0,
    atol=0,
    cases=(
        Case("64 rows, one tile", data(64, 64), launch),
        Case("64 rows, two tiles", data(64, 128), launch),
        Case("ragged, six tiles", data(65, 360), launch),
        Case("all negative", data(63, 200, lambda x: -abs(x) - 1), launch),
        Case("one row", data(1, 8), launch),
        Case("more tiles", data(10, 456), launch, visible=False),
    ),
    slips=(
        Slip(
            "Columns past the last one have counted, as 0: outside the map TMA fills zeros in, and only `columns` of a tile are there.",
            lambda data: {"m": np.maximum(data["x"].astype(np.float64).max(axis=1), 0)},
        ),
    ),
    variation=lambda rng: [Case(f"{n} rows of {8 * w}", data(n, 8 * w, hard_rows(rng)), launch) for n, w in lengths(rng, 64, 32)],
    hints=(
        "A barrier's phases are 0, 1, 2 …, and their parities 0, 1, 0 …. How many tiles pass through one stage while the loop passes four?",
        "Stage s is filled every second step: its phase is `n / stages`, so its parity is `n / stages & 1`.",
    ),
)
