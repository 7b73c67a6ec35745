import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, hard_rows, lengths


def data(rows, keys, shape=lambda x: x):
    """S, P: (rows, keys), float32. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((rows, keys), dtype=np.float32)).astype(np.float32),
        "P": np.empty((rows, keys), np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
    }


def one_large(x):
    """Row 2 alone has a score that exp can't hold."""
    x[2, 5] = 100.0
    return x


def launch(data):
    return Launch(ceil_div(data["P"].shape[0], 4), 128, "S P rows keys")


def reference(data):
    S = data["S"].astype(np.float64)
    e = np.exp(S - S.max(axis=1, keepdims=True))
    return {"P": e / e.sum(axis=1, keepdims=True)}


exercise = Exercise(
    title="Repair a softmax that can't stand large scores",
    reference=reference,
    rtol=3e-5,  # expf of a difference down to -100 or so, itself off by 6e-8 of its size
    cases=(
        Case("4 rows, small scores", data(4, 64), launch),
        Case("one score of 100 in row 2", data(4, 40, one_large), launch),
        Case("all around -200", data(3, 40, lambda x: x - 200.0), launch),
        Case("all the same, 90", data(2, 33, lambda x: 0.0 * x + 90.0), launch),
        Case("more than 200 apart", data(3, 50, lambda x: 200.0 * x), launch),
        Case("one key", data(5, 1), launch),
        Case("one short of a warp", data(2, 31), launch),
        Case("another shape", data(6, 70, lambda x: 150.0 + 30.0 * x), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, hard_rows(rng)), launch) for (n,) in lengths(rng, 32)],
    hints=(
        "float32 ends at about exp(88.7), and below exp(-103) it is 0. But exp(s - c) / the sum of exp(s - c) is the same for every c: choose c so that "
        "nothing overflows, and not all terms are 0.",
        "c = m, the row's largest score: each lane takes the maximum over its keys, five `__shfl_xor_sync` give the warp's to all lanes, then `expf(S[j] - m)` "
        "in both places.",
    ),
)
