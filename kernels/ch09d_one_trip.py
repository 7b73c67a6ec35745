import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, hard_rows, lengths


def data(heads, Nq, Nk, shape=lambda x: x):
    """S: (heads, Nq, Nk), V: (heads, Nk, 64), O: (heads, Nq, 64), float32. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((heads, Nq, Nk), dtype=np.float32)).astype(np.float32),
        "V": rng.standard_normal((heads, Nk, 64), dtype=np.float32),
        "O": np.empty((heads, Nq, 64), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    heads, Nq, Nk = data["S"].shape
    return Launch((Nq, heads), 64, "S V O Nq Nk", 4 * Nk)


def reference(data):
    S = data["S"].astype(np.float64)
    e = np.exp(S - S.max(axis=-1, keepdims=True))
    return {"O": e / e.sum(axis=-1, keepdims=True) @ data["V"].astype(np.float64)}


exercise = Exercise(
    title="Softmax and weighted values in one launch",
    reference=reference,
    rtol=2e-5,
    atol=4e-6,  # scores up to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("4 queries, 128 keys, 2 heads", data(2, 4, 128), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("fewer keys than threads", data(1, 3, 63), launch),
        Case("one more", data(2, 2, 65), launch),
        Case("all around -200", data(1, 2, 70, lambda x: x - 200.0), launch),
        Case("scores far apart", data(1, 2, 100, lambda x: 30.0 * x), launch),
        Case("another shape", data(2, 3, 77), launch, visible=False),
    ),
    budget=Budget(
        "4 queries, 128 keys, 2 heads",
        "S is read once: 16 sectors a row; of V each block asks for 128 rows of 8 sectors; what is written is O alone",
        global_load_sectors=8 * (16 + 128 * 8),
        dram_write_bytes=4 * 2 * 4 * 64,
    ),
    variation=lambda rng: [Case(f"n = {n}", data(2, 5, n, hard_rows(rng)), launch) for (n,) in lengths(rng, 64)],
    hints=(
        "The loop over all of p[] ends at another moment in each warp. Who may write p[], and since when? And who may read the new numbers?",
        "A barrier before the exp and one after it. Then `l += p[j]` beside `acc += p[j] * V[(size_t)j * 64]`.",
    ),
)
