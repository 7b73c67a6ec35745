import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, ceil_div, lengths


def data(rows, keys, low=-8, shape=lambda x: x):
    """X: (keys, rows) int32 from low to low + 15, top: (rows) int32, sum: (rows) float32; no trace. `shape` reorders the exponents, keys downwards."""
    return lambda rng: {
        "X": np.ascontiguousarray(shape(rng.integers(low, low + 16, (keys, rows), dtype=np.int32))),
        "top": np.empty(rows, np.int32),
        "sum": np.empty(rows, np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
        "trace": np.uintp(0),
    }


def launch(data):
    return Launch(ceil_div(data["top"].size, 64), 64, "X top sum rows keys trace")


def states(data):
    """The largest exponent and the sum of each row after each key: (rows, keys, 2), float64."""
    X = data["X"].astype(np.float64).T
    m = np.maximum.accumulate(X, axis=1)
    l = [np.exp2(X[:, : j + 1] - m[:, j, None]).sum(axis=1) for j in range(X.shape[1])]  # noqa: E741
    return np.stack([m, np.stack(l, axis=1)], axis=-1)


def reference(data):
    X = data["X"].astype(np.float64)
    return {"top": data["X"].max(axis=0), "sum": np.exp2(X - X.max(axis=0)).sum(axis=0)}


exercise = Exercise(
    title="Online, and exact to the last bit",
    reference=reference,
    trace=Trace(states, step="key"),
    rtol=0.0,  # multiples of 2^-15 below 200 need 23 bits, and a float has 24: nothing is rounded
    atol=0.0,
    cases=(
        Case("64 rows, 20 keys", data(64, 20), launch),
        Case("one row, one key", data(1, 1), launch),
        Case("200 keys", data(2, 200), launch),
        Case("the largest comes last", data(3, 60, shape=lambda x: np.sort(x, axis=0)), launch),
        Case("the largest comes first", data(3, 60, shape=lambda x: np.sort(x, axis=0)[::-1]), launch),
        Case("large exponents", data(3, 30, 1000), launch),
        Case("another shape", data(70, 50, -3000), launch, visible=False),
    ),
    budget=Budget("64 rows, 20 keys", "2 warps ask once for each of 20 keys", global_load_requests=2 * 20),
    variation=lambda rng: [Case(f"shape {s}", data(*s, -200), launch) for s in lengths(rng, 64, 32)],
    hints=(
        "The same two lines as with exp: the old sum is measured against the old maximum. Multiplying by a power of two rounds nothing.",
        "`m_new = max(m, x)`, then `l = ldexpf(l, m - m_new) + ldexpf(1.0f, x - m_new)`, then `m = m_new`.",
    ),
)
