import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, hard_rows, lengths


def data(rows, cols, shape=lambda x: x):
    """x: (rows, cols), m, l: (rows), float32. `shape` turns standard normal numbers into the case's."""
    return lambda rng: {
        "x": shape(rng.standard_normal((rows, cols), dtype=np.float32)).astype(np.float32),
        "m": np.empty(rows, np.float32),
        "l": np.empty(rows, np.float32),
        "cols": np.int32(cols),
    }


def launch(data):
    return Launch(data["m"].size, 256, "x m l cols")


def reference(data):
    x = data["x"].astype(np.float64)
    m = x.max(axis=1)
    return {"m": m, "l": np.exp(x - m[:, None]).sum(axis=1)}


exercise = Exercise(
    title="The largest number of each row, and a sum that needs it",
    reference=reference,
    cases=(
        Case("3 rows of 512", data(3, 512), launch),
        Case("one number", data(1, 1), launch),
        Case("fewer than a warp", data(2, 31), launch),
        Case("one more than a block", data(2, 257), launch),
        Case("all below zero", data(2, 300, lambda x: x - 100.0), launch),
        Case("the largest comes last", data(2, 600, lambda x: np.sort(x, axis=1)), launch),
        Case("far apart", data(2, 300, lambda x: 100.0 * x), launch),
        Case("another shape", data(2, 333, lambda x: -np.sort(x, axis=1)), launch, visible=False),
    ),
    budget=(
        Budget("3 rows of 512", "three moments in a row: maxima stored, maxima read, sums stored", barriers=3 * 3),
        Budget("3 rows of 512", "16 times 32 elements a row, asked for once for m and once for l", global_load_requests=3 * 2 * 16),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, hard_rows(rng)), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "Twice the same three steps: shuffles inside the warp, lane 0 stores its warp's result, a barrier. After the first time every thread reads all 8 "
        "maxima, and nobody may store sums over them too early.",
        "`top = fmaxf(top, __shfl_down_sync(0xffffffffu, top, step))` for step 16 .. 1, then s[warp], a barrier, and a loop over s[0 .. 7]. The sum goes the "
        "same way, with one barrier before s[warp] = sum and one after it.",
    ),
)
