import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, Trace, ceil_div


def data(rows, keys, shape=lambda x: x):
    """S, P: (rows, keys), LSE: (rows), float32; no trace. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((rows, keys), dtype=np.float32)).astype(np.float32),
        "P": np.empty((rows, keys), np.float32),
        "LSE": np.empty(rows, np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
        "trace": np.uintp(0),
    }


def launch(data):
    return Launch(ceil_div(data["LSE"].size, 4), 128, "S P LSE rows keys trace")


def states(data):
    """m and l of each row after each tile of 32 keys: (rows, tiles, 2), float64."""
    S = data["S"].astype(np.float64)
    seen = [S[:, :end] for end in range(32, S.shape[1] + 32, 32)]
    return np.stack([np.stack([s.max(axis=1), np.exp(s - s.max(axis=1, keepdims=True)).sum(axis=1)], axis=-1) for s in seen], axis=1)


def reference(data):
    S = data["S"].astype(np.float64)
    m = S.max(axis=1, keepdims=True)
    e = np.exp(S - m)
    total = e.sum(axis=1, keepdims=True)
    return {"P": e / total, "LSE": (m + np.log(total))[:, 0]}


example = Example(
    title="Softmax of each row with two reads of it, a warp a row",
    reference=reference,
    trace=Trace(states),
    rtol=3e-5,  # expf of a difference down to -100 or so, itself off by 6e-8 of its size
    cases=(
        Case("4 rows of 128", data(4, 128), launch),
        Case("one score", data(1, 1), launch),
        Case("one short of a tile", data(2, 31), launch),
        Case("one more than a tile", data(5, 33), launch),
        Case("ascending scores", data(2, 100, lambda x: np.sort(x, axis=1)), launch),
        Case("scores far apart", data(2, 100, lambda x: 30.0 * x), launch),
    ),
    budget=Budget("4 rows of 128", "512 scores are 64 sectors, read twice and written once, and LSE", global_load_sectors=2 * 64, global_store_sectors=64 + 4),
)
