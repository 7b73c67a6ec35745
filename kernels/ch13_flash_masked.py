import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, Trace, ceil_div

d, Br, Bc = 32, 16, 32


def data(Nq, Nk, causal=0, shape=lambda Q, K: None):
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
            "causal": np.int32(causal),
            "trace": np.uintp(0),
        }

    return make


def far_apart(Q, K):
    """Scores up to 100 or so, either side of 0."""
    Q *= 30


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 4 * Br, "Q K V O LSE Nq Nk scale causal trace")


def scores(data):
    """(Nq, Nk), float64; -inf where a query doesn't see a key."""
    S = float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T
    Nq, Nk = S.shape
    seen = np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq
    return np.where(seen, S, -np.inf) if data["causal"] else S


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


def asked_bytes(Nq, Nk, causal):
    """Bytes asked of global memory: Q, O and LSE once; K and V as far as each tile of queries visits tiles of keys."""
    last = [min(first + Br, Nq) - 1 for first in range(0, Nq, Br)]
    seen = [max(0, min(Nk, row + Nk - Nq + 1)) if causal else Nk for row in last]
    keys = sum(min(Nk, ceil_div(limit, Bc) * Bc) for limit in seen)
    return 4 * (2 * Nq * d + 2 * keys * d + Nq)


example = Example(
    title="Attention with a mask: causal, ragged, rows without a key",
    reference=reference,
    trace=Trace(states, states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("causal, 48 queries and keys", data(48, 48, 1), launch),
        Case("all keys, ragged", data(17, 33), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("causal, more keys than queries", data(15, 70, 1, far_apart), launch),
        Case("causal, rows without a key", data(40, 9, 1), launch),
    ),
    budget=Budget("causal, 48 queries and keys", "the three query tiles visit 1, 1 and 2 key tiles", global_bytes=asked_bytes(48, 48, 1)),
)
