import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div, hard_scores, lengths

d, Br, Bc = 32, 16, 32


def data(Nq, Nk, shape=lambda Q, K: None):
    """Q, O: (Nq, 32), K, V: (Nk, 32), LSE: (Nq), float32; no trace. `shape` edits Q and K in place."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (Nq, Nk, Nk))
        shape(Q, K)
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "O": np.empty((Nq, d), np.float32),
            "LSE": np.empty(Nq, np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
            "trace": np.uintp(0),
        }

    return make


def ascending(Q, K):
    """Each key's score is larger than the one before, in every row."""
    Q[:] = abs(Q)
    K[:] = np.linspace(-1, 2, len(K), dtype=np.float32)[:, None]


def falling(Q, K):
    """Scores of 100 or so in the first tile, of -100 or so in later ones."""
    Q[:] = abs(Q)
    K[:] = np.where(np.arange(len(K)) < Bc, 25, -25)[:, None]


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 4 * Br, "Q K V O LSE Nq Nk scale trace")


def scores(data):
    """(Nq, Nk), float64."""
    return float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T


def states(data):
    """m, l and acc (column 0) of each row after each key tile: (Nq, tiles, 3), float64."""
    S, V = scores(data), data["V"].astype(np.float64)
    told = np.empty((len(S), ceil_div(S.shape[1], Bc), 3))
    for tile in range(told.shape[1]):
        seen = S[:, : (tile + 1) * Bc]
        m = seen.max(axis=1)
        P = np.exp(seen - m[:, None])
        told[:, tile] = np.stack([m, P.sum(axis=1), P @ V[: P.shape[1], 0]], axis=-1)
    return told



def reference(data):
    S = scores(data)
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=1, keepdims=True)
    return {"O": P @ data["V"].astype(np.float64) / total, "LSE": (m + np.log(total))[:, 0]}


exercise = Exercise(
    title="The running state m, l, acc, a tile at a time",
    reference=reference,
    trace=Trace(states, states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("16 queries, 64 keys", data(16, 64), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one more than a tile", data(17, 33), launch),
        Case("each tile has larger scores", data(3, 70, ascending), launch),
        Case("the second tile lies 200 lower", data(9, 40, falling), launch),
        Case("another shape", data(7, 40, ascending), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s, hard_scores(rng)), launch) for s in lengths(rng, Br, Bc)],
    hints=(
        "All 32 lanes of a row need the same m and the same l: two exchanges over the warp, a maximum and a sum. What "
        "was added up before was measured against the old m.",
        "m_new = the maximum of m[i] and all lanes' s[i]; p = expf(s[i] - m_new) goes to Ps[mine + i][lane]; shrink = "
        "expf(m[i] - m_new) multiplies l[i] and acc[i]; then l[i] += the sum of p.",
    ),
)
