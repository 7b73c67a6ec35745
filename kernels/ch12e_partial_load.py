import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div, hard_scores, lengths

d, Br, Bc = 16, 32, 8


def data(Nq, Nk, shape=lambda Q, K: None):
    """Q, O: (Nq, 16), K, V: (Nk, 16), float32; no trace. `shape` edits Q and K in place."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (Nq, Nk, Nk))
        shape(Q, K)
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "O": np.empty((Nq, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
            "trace": np.uintp(0),
        }

    return make


def a_low_row(Q, K):
    """Row 0 has scores of 120 or so, row 1 of -120 or so."""
    K[:] = abs(K) + 1
    Q[0], Q[1] = 17, -17


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 32, "Q K V O Nq Nk scale trace")


def scores(data):
    """(Nq, Nk), float64."""
    return float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T


def states(data):
    """m and l of each row after each key tile: (Nq, tiles, 2), float64."""
    S = scores(data)
    seen = [S[:, :end] for end in range(Bc, S.shape[1] + Bc, Bc)]
    return np.stack([np.stack([s.max(axis=1), np.exp(s - s.max(axis=1, keepdims=True)).sum(axis=1)], axis=-1) for s in seen], axis=1)


def reference(data):
    S = scores(data)
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return {"O": P @ data["V"].astype(np.float64) / P.sum(axis=1, keepdims=True)}


exercise = Exercise(
    title="An article's listing, repaired",
    reference=reference,
    trace=Trace(states),
    rtol=4e-5,
    atol=2e-5,  # scores of size 1 to 150, off by 6e-8 of that, pass through exp
    cases=(
        Case("32 queries, 16 keys", data(32, 16), launch),
        Case("fewer keys than a tile", data(32, 5), launch),
        Case("one row far below the others", data(32, 16, a_low_row), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one more than a tile", data(33, 9), launch),
        Case("another shape", data(31, 20), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s, hard_scores(rng)), launch) for s in lengths(rng, Br, Bc)],
    hints=(
        "Take the faults in the verdict's order: how many elements does a tile have, and how many threads load? Then "
        "count the tiles, the scale, whose maximum it is, the refill, the last row.",
        "Loads: `for (k = t; k < Bc * d; k += 32)`, 0 past the end. tiles = (Nk + Bc - 1) / Bc; a key past the end has "
        "score -CUDART_INF_F; `top` of the own row; "
        "`__syncthreads();` at the end of the round; store if row < Nq.",
    ),
)
