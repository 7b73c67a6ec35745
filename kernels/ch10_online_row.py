import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, Trace, ceil_div


def data(rows, keys, shape=lambda x: x, traced=False):
    """S: (rows, keys), LSE: (rows), trace: null or (rows, keys, 2), float32. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((rows, keys), dtype=np.float32)).astype(np.float32),
        "LSE": np.empty(rows, np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
        "trace": np.empty((rows, keys, 2), np.float32) if traced else np.uintp(0),
    }


def launch(data):
    return Launch(ceil_div(data["LSE"].size, 64), 64, "S LSE rows keys trace")


def states(data):
    """m and l of each row after each key: (rows, keys, 2), float64."""
    S = data["S"].astype(np.float64)
    m = np.maximum.accumulate(S, axis=1)
    l = [np.exp(S[:, : j + 1] - m[:, j, None]).sum(axis=1) for j in range(S.shape[1])]  # noqa: E741
    return np.stack([m, np.stack(l, axis=1)], axis=-1)


def reference(data):
    S = data["S"].astype(np.float64)
    m = S.max(axis=1)
    answer = {"LSE": m + np.log(np.exp(S - m[:, None]).sum(axis=1))}
    return answer if data["trace"].ndim == 0 else answer | {"trace": states(data)}


example = Example(
    title="Log-sum-exp of each row, in one pass",
    reference=reference,
    trace=Trace(states, step="key"),
    rtol=2e-6,  # up to 100 additions and as many rescalings, each off by at most 6e-8 or so
    atol=4e-6,
    cases=(
        Case("3 rows of 20", data(3, 20), launch),
        Case("one score", data(1, 1), launch),
        Case("more rows than a block", data(70, 9), launch),
        Case("ascending scores", data(2, 100, lambda x: np.sort(x, axis=1)), launch),
        Case("far apart, all below zero", data(2, 50, lambda x: -100.0 * abs(x) - 200.0), launch),
        Case("traced", data(2, 40, traced=True), launch),
    ),
    budget=Budget("more rows than a block", "70 rows of 9 scores: each score is asked for once, in 3 warps", global_load_requests=3 * 9),
)
