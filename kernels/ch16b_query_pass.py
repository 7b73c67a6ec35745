import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths

T, d = 16, 64


def attention(Q, K, V, scale, causal):
    """P, O, LSE in float64. Query heads that lie together share a key head; causal: query i sees keys up to i + Nk - Nq."""
    Nq, Nk, group = Q.shape[2], K.shape[2], Q.shape[1] // K.shape[1]
    S = scale * Q @ K.repeat(group, axis=1).swapaxes(2, 3)
    S = np.where(np.tri(Nq, Nk, Nk - Nq if causal else Nk, dtype=bool), S, -np.inf)
    m = np.maximum(S.max(axis=-1, keepdims=True), -1e300)  # finite where a query sees no key
    E = np.exp(S - m)
    total = E.sum(axis=-1, keepdims=True)
    P = E / np.where(total > 0, total, 1)
    with np.errstate(divide="ignore"):
        return P, P @ V.repeat(group, axis=1), (m + np.log(total))[..., 0]


def data(batch, heads, kv_heads, Nq, Nk, causal=False, spread=1.0):
    """Q, O, dO, dQ: (batch, heads, Nq, 64), K, V: (batch, kv_heads, Nk, 64), LSE, delta: (batch, heads, Nq), float32."""

    def make(rng):
        Q, dO = rng.standard_normal((2, batch, heads, Nq, d)).astype(np.float32)
        K, V = rng.standard_normal((2, batch, kv_heads, Nk, d)).astype(np.float32)
        Q *= np.float32(spread)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5, causal)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "O": O.astype(np.float32),
            "dO": dO,
            "LSE": LSE.astype(np.float32),
            "delta": np.empty_like(LSE, np.float32),
            "dQ": np.empty_like(Q),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "kv_heads": np.int32(kv_heads),
            "scale": np.float32(d**-0.5),
            "causal": np.int32(causal),
        }

    return make


def launch(data):
    batch, heads, Nq, _ = data["dQ"].shape
    return Launch((ceil_div(Nq, T), heads, batch), (T, T), "Q K V O dO LSE delta dQ Nq Nk kv_heads scale causal")


def reference(data):
    """delta and dQ in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    scale, group = float(data["scale"]), Q.shape[1] // K.shape[1]
    P, O, _ = attention(Q, K, V, scale, bool(data["causal"]))  # noqa: E741
    delta = (O * dO).sum(axis=-1)
    dS = P * (dO @ V.repeat(group, axis=1).swapaxes(2, 3) - delta[..., None])
    return {"delta": delta, "dQ": scale * dS @ K.repeat(group, axis=1)}


exercise = Exercise(
    title="dQ in a pass of its own, from LSE",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 30, off by 6e-8 of that, pass through exp
    cases=(
        Case("16 queries, 32 keys", data(1, 1, 1, 16, 32), launch),
        Case("one query, one key", data(1, 1, 1, 1, 1), launch),
        Case("one short of a tile, one more than a tile", data(1, 1, 1, 15, 17), launch),
        Case("4 query heads on 2 key heads, causal", data(1, 4, 2, 6, 9, causal=True), launch),
        Case("causal, more queries than keys", data(1, 1, 1, 20, 9, causal=True), launch),
        Case("scores far apart", data(1, 1, 1, 5, 20, spread=10.0), launch),
        Case("another shape", data(2, 2, 1, 7, 18, causal=True), launch, visible=False),
    ),
    variation=lambda rng: [
        Case(f"shape {s}, causal {causal}", data(1, 2, 1, *s, causal), launch) for s, causal in zip((*lengths(rng, T, T), (9, 4)), (0, 0, 1, 1), strict=True)
    ],
    hints=(
        "Three places: delta is the row's sum of O * dO; the weight comes from s, scale and lse, but only where the pair is seen; then dQ collects dS times "
        "the rows of K, just as O collected P times the rows of V.",
        "`seen = row < Nq && key < Nk && key <= row + shift`, `p = seen ? expf(scale * s - lse) : 0.0f`, dS = p * (dp - dlt), and for each key k of the tile "
        "`q_sum[u] += dSs[y][k] * Ks[k][x + T * u]`.",
    ),
)
