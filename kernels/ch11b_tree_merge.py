import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, ceil_div, hard_rows, lengths


def data(rows, keys, shape=lambda x: x):
    """S: (rows, keys), LSE: (rows), float32; no trace. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((rows, keys), dtype=np.float32)).astype(np.float32),
        "LSE": np.empty(rows, np.float32),
        "rows": np.int32(rows),
        "keys": np.int32(keys),
        "trace": np.uintp(0),
    }


def launch(data):
    return Launch(ceil_div(data["LSE"].size, 4), 128, "S LSE rows keys trace")


def states(data):
    """m and l of each lane after its own keys and after each join: (rows, 32, 6, 2), float64."""
    S = data["S"].astype(np.float64)
    told = np.empty((S.shape[0], 32, 6, 2))
    for stage in range(6):
        for lane in range(32):
            # After `stage` joins a lane has seen the keys of the 2^stage lanes that differ from it in the highest bits.
            lanes = [other for other in range(32) if other % (32 >> stage) == lane % (32 >> stage)]
            seen = S[:, [j for j in range(S.shape[1]) if j % 32 in lanes]]
            m = seen.max(axis=1, initial=-np.inf)
            told[:, lane, stage, 0] = m
            told[:, lane, stage, 1] = np.exp(seen - m[:, None]).sum(axis=1)
    return told


def reference(data):
    S = data["S"].astype(np.float64)
    m = S.max(axis=1)
    return {"LSE": m + np.log(np.exp(S - m[:, None]).sum(axis=1))}


exercise = Exercise(
    title="Thirty-two states, joined by a tree",
    reference=reference,
    trace=Trace(states, step="stage", axes=("row", "lane")),
    rtol=2e-6,
    atol=4e-6,
    cases=(
        Case("3 rows of 128", data(3, 128), launch),
        Case("a ragged end", data(2, 100), launch),
        Case("one score", data(1, 1), launch),
        Case("fewer keys than lanes", data(2, 5), launch),
        Case("one more than a warp", data(2, 33), launch),
        Case("the largest comes last", data(2, 90, lambda x: np.sort(x, axis=1)), launch),
        Case("all far below zero", data(2, 70, lambda x: x - 300.0), launch),
        Case("more than 200 apart", data(2, 70, lambda x: 200.0 * x), launch),
        Case("another shape", data(5, 17, lambda x: 20.0 * x), launch, visible=False),
    ),
    budget=Budget("3 rows of 128", "3 warps ask once for each of 4 times 32 keys", global_load_requests=3 * 4),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, hard_rows(rng)), launch) for (n,) in lengths(rng, 32)],
    hints=(
        "Two shuffles bring the other lane's m and l. Then it is exercise a without o: both sums have to be measured against the larger maximum.",
        "`l = l * expf(m - m_new) + l_other * expf(m_other - m_new)`, then `m = m_new`; only if m_new isn't -infinity. The shuffles stand outside that if.",
    ),
)
