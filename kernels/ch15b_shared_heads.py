import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

d = 64


def data(kv_heads, group, Nq, Nk, causal=False):
    """P, dS: (kv_heads * group, Nq, Nk); Q, dO: (kv_heads * group, Nq, 64); dK, dV: (kv_heads, Nk, 64), float32."""

    def make(rng):
        heads = kv_heads * group
        Q, dO = rng.standard_normal((2, heads, Nq, d))
        K, V = rng.standard_normal((2, kv_heads, Nk, d)).repeat(group, axis=1)
        E = np.exp(d**-0.5 * Q @ K.swapaxes(1, 2)) * np.tri(Nq, Nk, Nk - Nq if causal else Nk)
        total = E.sum(axis=-1, keepdims=True)
        P = np.divide(E, total, where=total > 0, out=np.zeros_like(E))
        dP = dO @ V.swapaxes(1, 2)
        arrays = {"P": P, "dS": P * (dP - (P * dP).sum(axis=-1, keepdims=True)), "Q": Q, "dO": dO}
        return {name: array.astype(np.float32) for name, array in arrays.items()} | {
            "dK": np.empty((kv_heads, Nk, d), np.float32),
            "dV": np.empty((kv_heads, Nk, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "group": np.int32(group),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    kv_heads, Nk, _ = data["dK"].shape
    return Launch((ceil_div(Nk, 4), kv_heads), (64, 4), "P dS Q dO dK dV Nq Nk group scale")


def reference(data):
    P, dS, Q, dO = (data[name].astype(np.float64) for name in ("P", "dS", "Q", "dO"))
    kv_heads, Nk, _ = data["dK"].shape

    def collected(W, X):
        """W^T X of each query head, added up over the heads that share a key head."""
        return (W.swapaxes(1, 2) @ X).reshape(kv_heads, -1, Nk, d).sum(axis=1)

    return {"dK": float(data["scale"]) * collected(dS, Q), "dV": collected(P, dO)}


exercise = Exercise(
    title="dK and dV where several query heads share a key head",
    reference=reference,
    atol=1e-5,
    cases=(
        Case("2 key heads, 3 query heads each", data(2, 3, 8, 8), launch),
        Case("a key head for each query head", data(3, 1, 5, 6), launch),
        Case("one key head for all", data(1, 4, 6, 9), launch),
        Case("one query, one key", data(1, 2, 1, 1), launch),
        Case("causal, more queries than keys", data(2, 2, 9, 5, causal=True), launch),
        Case("another shape", data(2, 2, 7, 10, causal=True), launch, visible=False),
    ),
    budget=Budget("2 key heads, 3 query heads each", "a key has one thread for each column, so nobody else adds to its sums", atomics=0),
    budget_share=0.25,
    variation=lambda rng: [Case(f"shape {s}", data(2, 2, *s), launch) for s in lengths(rng, 4, 4)],
    hints=(
        "A key that 3 heads look at influences the loss in 3 ways; the gradient is their sum. Which query heads belong to key head kv?",
        "`for (int g = 0; g < group; ++g)` around the loop over queries, with `row = (kv * group + g) * Nq + i`; and dK has the factor scale.",
    ),
)
