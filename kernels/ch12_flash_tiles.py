import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, Trace, ceil_div

d, Br, Bc = 32, 32, 32


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


def far_apart(Q, K):
    """Scores up to 100 or so, either side of 0."""
    Q *= 30


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 4 * Br, "Q K V O LSE Nq Nk scale trace")


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
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=1, keepdims=True)
    return {"O": P @ data["V"].astype(np.float64) / total, "LSE": (m + np.log(total))[:, 0]}


def asked_bytes(Nq, Nk):
    """Bytes asked of global memory: Q read and O written once, K and V read by every query tile, LSE written."""
    return 4 * (2 * Nq * d + 2 * ceil_div(Nq, Br) * Nk * d + Nq)


example = Example(
    title="Attention in one kernel, queries in the outer loop",
    reference=reference,
    trace=Trace(states),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("64 queries, 96 keys", data(64, 96), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one more than a tile", data(33, 65), launch),
        Case("one short of a tile", data(31, 31), launch),
        Case("scores far apart", data(32, 70, far_apart), launch),
    ),
    budget=Budget("64 queries, 96 keys", "Q, O and LSE once, K and V once for each of 2 query tiles", global_bytes=asked_bytes(64, 96)),
)
