import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

d = 64


def attention(Q, K, scale):
    """P and LSE in float64; query i sees keys up to i + Nk - Nq."""
    Nq, Nk = Q.shape[0], K.shape[0]
    S = np.where(np.tri(Nq, Nk, Nk - Nq, dtype=bool), scale * Q @ K.T, -np.inf)
    m = np.maximum(S.max(axis=-1, keepdims=True), -1e300)  # finite where a query sees no key
    E = np.exp(S - m)
    total = E.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return E / np.where(total > 0, total, 1), (m + np.log(total))[:, 0]


def data(Nq, Nk, spread=1.0):
    """Q: (Nq, 64), K: (Nk, 64), LSE: (Nq), weight: (Nk), float32."""

    def make(rng):
        Q = np.float32(spread) * rng.standard_normal((Nq, d), dtype=np.float32)
        K = rng.standard_normal((Nk, d), dtype=np.float32)
        return {
            "Q": Q,
            "K": K,
            "LSE": attention(Q.astype(np.float64), K.astype(np.float64), d**-0.5)[1].astype(np.float32),
            "weight": np.empty(Nk, np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch(ceil_div(data["weight"].size, 32), 32, "Q K LSE weight Nq Nk scale")


def reference(data):
    P, _ = attention(data["Q"].astype(np.float64), data["K"].astype(np.float64), float(data["scale"]))
    return {"weight": P.sum(axis=0)}


exercise = Exercise(
    title="A weight by itself: P from LSE, without maximum and sum",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 30, off by 6e-8 of that, pass through exp
    cases=(
        Case("8 queries, 32 keys", data(8, 32), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one more than a block", data(5, 33), launch),
        Case("more queries than keys", data(9, 5), launch),
        Case("scores far apart", data(4, 20, 10.0), launch),
        Case("another shape", data(6, 21), launch, visible=False),
    ),
    budget=Budget(
        "8 queries, 32 keys",
        "the 8 queries see 25 to 32 keys, 228 in all; each pair costs 64 multiply-adds and less than 16 flops more for its weight",
        flops=228 * (2 * 64 + 16),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(*s), launch) for s in lengths(rng, 8, 32)],
    hints=(
        "P = exp(s - m) / l. Write l as exp(log l): which single number of a query stands for m and l together?",
        "exp(s - m) / l = exp(s - m - log l) = exp(s - LSE): `sum += expf(scale * s - LSE[i]);`.",
    ),
)
