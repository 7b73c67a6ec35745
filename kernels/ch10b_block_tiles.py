import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, hard_rows, lengths


def data(rows, keys, shape=lambda x: x):
    """S, P: (rows, keys), LSE: (rows), float32; no trace. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((rows, keys), dtype=np.float32)).astype(np.float32),
        "P": np.empty((rows, keys), np.float32),
        "LSE": np.empty(rows, np.float32),
        "keys": np.int32(keys),
        "trace": np.uintp(0),
    }


def launch(data):
    return Launch(data["LSE"].size, 128, "S P LSE keys trace")


def states(data):
    """m and l of each row after each tile of 128 keys: (rows, tiles, 2), float64."""
    S = data["S"].astype(np.float64)
    seen = [S[:, :end] for end in range(128, S.shape[1] + 128, 128)]
    return np.stack([np.stack([s.max(axis=1), np.exp(s - s.max(axis=1, keepdims=True)).sum(axis=1)], axis=-1) for s in seen], axis=1)


def reference(data):
    S = data["S"].astype(np.float64)
    m = S.max(axis=1, keepdims=True)
    e = np.exp(S - m)
    total = e.sum(axis=1, keepdims=True)
    return {"P": e / total, "LSE": (m + np.log(total))[:, 0]}


exercise = Exercise(
    title="Softmax by a block a row, 128 keys at a time",
    reference=reference,
    trace=Trace(states),
    rtol=3e-5,  # expf of a difference down to -100 or so, itself off by 6e-8 of its size
    cases=(
        Case("2 rows of 384: 3 tiles", data(2, 384), launch),
        Case("one score", data(1, 1), launch),
        Case("one short of a tile", data(1, 127), launch),
        Case("one more than a tile", data(2, 129), launch),
        Case("the largest comes last", data(2, 300, lambda x: np.sort(x, axis=1)), launch),
        Case("all far below zero", data(2, 200, lambda x: x - 300.0), launch),
        Case("scores far apart", data(2, 300, lambda x: 30.0 * x), launch),
        Case("hundreds lower from tile to tile", data(2, 300, lambda x: -200.0 * np.sort(x, axis=1)), launch),
        Case("another shape", data(3, 261, lambda x: -np.sort(x, axis=1)), launch, visible=False),
    ),
    budget=Budget(
        "2 rows of 384: 3 tiles",
        "48 sectors a row, read twice; two barriers a tile are enough",
        global_load_sectors=2 * 2 * 48,
        barriers=2 * 3 * 2,
    ),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, hard_rows(rng)), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "Chapter 5's exercise b, once for each tile: shuffles, one word a warp, a barrier. The maximum must be the block's before anybody takes an exp, and "
        "l shrinks once a tile, not once a key.",
        "`m_new = fmaxf(m, s)` goes through the shuffles and tops[] to all threads. `part = expf(s - m_new)` goes through the shuffles and sums[] likewise. "
        "Then `l = l * expf(m - m_new) +` the four sums, in every thread.",
    ),
)
