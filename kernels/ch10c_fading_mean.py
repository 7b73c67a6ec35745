import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div, hard_rows, lengths


def data(rows, keys, shape=lambda x: x):
    """S: (keys, rows), v: (keys) from 1 to 5, O: (rows), float32; no trace. `shape` turns standard normal numbers into the scores, keys downwards."""
    return lambda rng: {
        "S": shape(rng.standard_normal((keys, rows), dtype=np.float32)).astype(np.float32),
        "v": rng.uniform(1, 5, keys).astype(np.float32),
        "O": np.empty(rows, np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
        "trace": np.uintp(0),
    }


def some_ascend(x):
    """Every second row has its largest score first, the others have it last."""
    x = np.sort(x, axis=0)
    x[:, ::2] = x[::-1, ::2]
    return x


def downwards(shape):
    """A shape of rows, for keys that lie below each other."""
    return lambda x: np.ascontiguousarray(shape(x.T).T)


def launch(data):
    return Launch(ceil_div(data["O"].size, 64), 64, "S v O rows keys trace")


def states(data):
    """m, l and acc of each row after each key: (rows, keys, 3), float64."""
    S, v = data["S"].astype(np.float64).T, data["v"].astype(np.float64)
    m = np.maximum.accumulate(S, axis=1)
    p = [np.exp(S[:, : j + 1] - m[:, j, None]) for j in range(S.shape[1])]
    return np.stack([m, np.stack([q.sum(axis=1) for q in p], axis=1), np.stack([q @ v[: q.shape[1]] for q in p], axis=1)], axis=-1)


def reference(data):
    S = data["S"].astype(np.float64)
    p = np.exp(S - S.max(axis=0))
    return {"O": data["v"].astype(np.float64) @ p / p.sum(axis=0)}


exercise = Exercise(
    title="Repair a weighted mean that fades the wrong way",
    reference=reference,
    trace=Trace(states, step="key", states=("m", "l", "acc")),
    rtol=3e-6,  # up to 60 additions and as many rescalings, each off by at most 6e-8 or so, in l and in acc
    cases=(
        Case("4 rows, every second ascends", data(4, 12, some_ascend), launch),
        Case("one row, one key", data(1, 1), launch),
        Case("more rows than a block", data(70, 6), launch),
        Case("the largest comes first", data(3, 40, lambda x: -np.sort(x, axis=0)), launch),
        Case("the largest comes last", data(3, 40, lambda x: np.sort(x, axis=0)), launch),
        Case("more than 200 apart", data(3, 30, lambda x: 200.0 * x), launch),
        Case("all the same", data(3, 30, lambda x: 0.0 * x - 100.0), launch),
        Case("another shape", data(5, 60), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, downwards(hard_rows(rng))), launch) for (n,) in lengths(rng, 32)],
    hints=(
        "l and acc hold terms exp(score - m) for the old m. Which factor turns exp(score - m) into exp(score - m_new)? Is it above or below 1?",
        "exp(score - m_new) = exp(score - m) * exp(m - m_new): `fade = expf(m - m_new)`. For the first key m is -infinity, so fade is 0 by itself.",
    ),
)
