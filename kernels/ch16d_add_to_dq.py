import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

T, d = 16, 64


def attention(Q, K, V, scale):
    """P, O, LSE in float64."""
    S = scale * Q @ K.swapaxes(1, 2)
    m = S.max(axis=-1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=-1, keepdims=True)
    return P / total, P @ V / total, (m + np.log(total))[..., 0]


def data(heads, Nq, Nk):
    """Q, dO, dQ: (heads, Nq, 64), K, V: (heads, Nk, 64), LSE, delta: (heads, Nq), float32; dQ is 0."""

    def make(rng):
        Q, dO = rng.standard_normal((2, heads, Nq, d)).astype(np.float32)
        K, V = rng.standard_normal((2, heads, Nk, d)).astype(np.float32)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "dO": dO,
            "LSE": LSE.astype(np.float32),
            "delta": (O * dO).sum(axis=-1).astype(np.float32),
            "dQ": np.zeros_like(Q),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch((ceil_div(int(data["Nk"]), T), data["dQ"].shape[0]), (T, T), "Q K V dO LSE delta dQ Nq Nk scale")


def reference(data):
    """dQ in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    P, O, _ = attention(Q, K, V, float(data["scale"]))  # noqa: E741
    dS = P * (dO @ V.swapaxes(1, 2) - (O * dO).sum(axis=-1, keepdims=True))
    return {"dQ": float(data["scale"]) * dS @ K}


exercise = Exercise(
    title="Repair: several blocks add to one dQ",
    reference=reference,
    updates=("dQ",),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 or so, off by 6e-8 of that, pass through exp
    cases=(
        Case("5 queries, 16 keys: one block", data(1, 5, 16), launch),
        Case("16 queries, 48 keys: three blocks", data(1, 16, 48), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("ragged, 2 heads", data(2, 17, 18), launch),
        Case("another shape", data(1, 3, 33), launch, visible=False),
    ),
    budget=Budget("16 queries, 48 keys: three blocks", "each of 3 blocks adds once to each of 16 * 64 elements", atomics=3 * 16 * d),
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in lengths(rng, T, T)],
    hints=(
        "Read the report: which two threads touch one element of dQ, and of which blocks are they? A barrier holds within a block only.",
        "`atomicAdd(&dQ[i * d + x + T * u], scale * q_sum[u]);`: once for the sum over the block's 16 keys, not once a key.",
    ),
)
