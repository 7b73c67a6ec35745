import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, ceil_div, hard_scores, lengths

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
    title="Tiles that nobody sees",
    reference=reference,
    trace=Trace(states, states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("17 queries, 33 keys", data(17, 33), launch),
        Case("64 queries and keys", data(64, 64), launch),
        Case("15 queries, 39 keys", data(15, 39), launch),
        Case("20 queries, 3 keys", data(20, 3), launch),
        Case("another shape", data(15, 45, far_apart), launch, visible=False),
    ),
    budget=(
        Budget("64 queries and keys", "of 4 x 2 tiles, 2 lie above the mask's edge: 6 are visited", global_bytes=4 * (2 * 64 * d + 6 * 2 * Bc * d + 64)),
        Budget("20 queries, 3 keys", "the first 16 queries see no key, so their block loads none", global_bytes=4 * (2 * 20 * d + 2 * 3 * d) + 3 * 32),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(*s, hard_scores(rng)), launch) for s in (*lengths(rng, Br, Bc), (Br + 2, int(rng.integers(2, Br))))],
    hints=(
        "Of the block's queries the last one sees most. Which key is the last that it sees? No tile behind that one is worth loading.",
        "The block's last query is `min(first + Br, Nq) - 1`; it sees `min(Nk, last + Nk - Nq + 1)` keys, none if that isn't positive: the loop ends there.",
    ),
)
