import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, ceil_div, hard_rows, lengths


def data(rows, keys, shape=lambda x: x):
    """S: (keys, rows), LSE: (rows), float32; no trace. `shape` turns standard normal numbers into the scores, keys downwards."""
    return lambda rng: {
        "S": shape(rng.standard_normal((keys, rows), dtype=np.float32)).astype(np.float32),
        "LSE": np.empty(rows, np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
        "trace": np.uintp(0),
    }


def downwards(shape):
    """A shape of rows, for keys that lie below each other."""
    return lambda x: np.ascontiguousarray(shape(x.T).T)


def launch(data):
    return Launch(ceil_div(data["LSE"].size, 64), 64, "S LSE rows keys trace")


def states(data):
    """m and l of each row after each key: (rows, keys, 2), float64."""
    S = data["S"].astype(np.float64).T
    m = np.maximum.accumulate(S, axis=1)
    l = [np.exp(S[:, : j + 1] - m[:, j, None]).sum(axis=1) for j in range(S.shape[1])]  # noqa: E741
    return np.stack([m, np.stack(l, axis=1)], axis=-1)


def reference(data):
    S = data["S"].astype(np.float64)
    m = S.max(axis=0)
    return {"LSE": m + np.log(np.exp(S - m).sum(axis=0))}


exercise = Exercise(
    title="Log-sum-exp of each row, reading each score once",
    reference=reference,
    trace=Trace(states, step="key"),
    rtol=2e-6,  # up to 60 additions and as many rescalings, each off by at most 6e-8 or so
    atol=4e-6,
    cases=(
        Case("64 rows, 20 keys", data(64, 20), launch),
        Case("one row, one key", data(1, 1), launch),
        Case("more rows than a block", data(70, 5), launch),
        Case("the largest comes last", data(3, 40, lambda x: np.sort(x, axis=0)), launch),
        Case("the largest comes first", data(3, 40, lambda x: -np.sort(x, axis=0)), launch),
        Case("all far below zero", data(3, 30, lambda x: x - 300.0), launch),
        Case("more than 200 apart", data(3, 30, lambda x: 200.0 * x), launch),
        Case("all the same", data(3, 30, lambda x: 0.0 * x + 7.5), launch),
        Case("another shape", data(5, 60, lambda x: 20.0 * x), launch, visible=False),
    ),
    budget=Budget("64 rows, 20 keys", "2 warps ask once for each of 20 keys", global_load_requests=2 * 20),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, downwards(hard_rows(rng))), launch) for (n,) in lengths(rng, 32)],
    hints=(
        "The terms in l are measured against m. When a larger score comes, each of them has to be measured against the new maximum: all by the same factor.",
        "Start at `m = -CUDART_INF_F, l = 0`. For each key: `m_new = fmaxf(m, s)`, then `l = l * expf(m - m_new) + expf(s - m_new)`, then `m = m_new`.",
    ),
)
