import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div, lengths

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


def far_apart(Q, K):
    """Scores up to 100 or so, either side of 0."""
    Q *= 30


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 4 * Br, "Q K V O LSE Nq Nk scale trace")


def scores(data):
    """(Nq, Nk), float64; -inf where a query doesn't see a key."""
    S = float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T
    Nq, Nk = S.shape
    return np.where(np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq, S, -np.inf)


def softmax_parts(S, V):
    """m, l and acc of each row: (Nq, 1), (Nq, 1), (Nq, 32)."""
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - np.where(m == -np.inf, 0.0, m))
    return m, P.sum(axis=1, keepdims=True), P @ V.astype(np.float64)


def states(data):
    """m, l and acc (column 0) of each row after each key tile: (Nq, tiles, 3), float64."""
    S, V = scores(data), data["V"]
    ends = range(Bc, S.shape[1] + Bc, Bc)
    return np.stack([np.concatenate([part[:, :1] for part in softmax_parts(S[:, :end], V[:end])], axis=1) for end in ends], axis=1)


def reference(data):
    """O and LSE in float64; 0 and -inf for a row that sees no key."""
    m, l, acc = softmax_parts(scores(data), data["V"])  # noqa: E741
    with np.errstate(divide="ignore"):
        return {"O": acc / np.where(l > 0, l, 1.0), "LSE": (m + np.log(l))[:, 0]}


exercise = Exercise(
    title="One division, after the last tile",
    reference=reference,
    trace=Trace(states, states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("one tile: 16 queries, 32 keys", data(16, 32), launch),
        Case("20 queries, 50 keys", data(20, 50), launch),
        Case("15 queries, 70 keys, scores far apart", data(15, 70, far_apart), launch),
        Case("40 queries, 9 keys: rows without a key", data(40, 9), launch),
        Case("another shape", data(17, 65, far_apart), launch, visible=False),
    ),
    variation=lambda rng: (
        [Case(f"shape {s}", data(*s, far_apart), launch) for s in lengths(rng, Br, Bc)] + [Case("rows without a key", data(Br + 5, 3), launch)]
    ),
    hints=(
        "l and acc are sums over the keys so far, both measured against m. Both shrink by the same factor; is that still true of acc / l?",
        "Divide nothing in the loop. After it, O is acc / l where l > 0, and 0 where the row has seen no key.",
    ),
)
