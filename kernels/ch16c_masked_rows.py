import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths

T, d = 16, 64


def attention(Q, K, V, scale, causal):
    """P, O, LSE in float64; causal: query i sees keys up to i + Nk - Nq."""
    Nq, Nk = Q.shape[1], K.shape[1]
    S = scale * Q @ K.swapaxes(1, 2)
    S = np.where(np.tri(Nq, Nk, Nk - Nq if causal else Nk, dtype=bool), S, -np.inf)
    m = np.maximum(S.max(axis=-1, keepdims=True), -1e300)  # finite where a query sees no key
    E = np.exp(S - m)
    total = E.sum(axis=-1, keepdims=True)
    P = E / np.where(total > 0, total, 1)
    with np.errstate(divide="ignore"):
        return P, P @ V, (m + np.log(total))[..., 0]


def data(heads, Nq, Nk):
    """Q, dO: (heads, Nq, 64), K, V, dK, dV: (heads, Nk, 64), LSE, delta: (heads, Nq), float32."""

    def make(rng):
        Q, dO = rng.standard_normal((2, heads, Nq, d)).astype(np.float32)
        K, V = rng.standard_normal((2, heads, Nk, d)).astype(np.float32)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5, True)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "dO": dO,
            "LSE": LSE.astype(np.float32),
            "delta": (O * dO).sum(axis=-1).astype(np.float32),
            "dK": np.empty_like(K),
            "dV": np.empty_like(V),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    heads, Nk, _ = data["dK"].shape
    return Launch((ceil_div(Nk, T), heads), (T, T), "Q K V dO LSE delta dK dV Nq Nk scale")


def reference(data):
    """dK and dV in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    P, O, _ = attention(Q, K, V, float(data["scale"]), True)  # noqa: E741
    dS = P * (dO @ V.swapaxes(1, 2) - (O * dO).sum(axis=-1, keepdims=True))
    return {"dK": float(data["scale"]) * dS.swapaxes(1, 2) @ Q, "dV": P.swapaxes(1, 2) @ dO}


exercise = Exercise(
    title="Repair: queries that see no key",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 or so, off by 6e-8 of that, pass through exp
    cases=(
        Case("16 queries, 16 keys", data(1, 16, 16), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("fewer queries than keys", data(2, 5, 17), launch),
        Case("one query too many", data(1, 17, 16), launch),
        Case("a whole tile sees nothing", data(1, 20, 3), launch),
        Case("another shape", data(2, 19, 17), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in (*lengths(rng, T, T), (9, 4))],
    hints=(
        "What is LSE of a query that sees no key, and what does exp(score - LSE) get to see for it?",
        "-inf - (-inf) is NaN. Decide by `seen`, not by the score: `const float p = seen ? expf(scale * s - lse) : 0.0f;`.",
    ),
)
