import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths

d = 64


def data(heads, Nq, Nk, ones=False, causal=False):
    """P: (heads, Nq, Nk), K, V: (heads, Nk, 64), O, dO, dQ: (heads, Nq, 64), float32. Causal: query i sees keys up to i + Nk - Nq."""

    def make(rng):
        Q, dO = rng.standard_normal((2, heads, Nq, d))
        K, V = rng.standard_normal((2, heads, Nk, d))
        E = np.exp(d**-0.5 * Q @ K.swapaxes(1, 2)) * np.tri(Nq, Nk, Nk - Nq if causal else Nk)
        total = E.sum(axis=-1, keepdims=True)
        P = np.divide(E, total, where=total > 0, out=np.zeros_like(E))
        arrays = {"P": P, "K": K, "V": V, "O": P @ V, "dO": np.ones_like(dO) if ones else dO}
        return {name: array.astype(np.float32) for name, array in arrays.items()} | {
            "dQ": np.empty((heads, Nq, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    heads, Nq, _ = data["dQ"].shape
    return Launch((ceil_div(Nq, 4), heads), 128, "P K V O dO dQ Nq Nk scale")


def reference(data):
    P, K, V, O, dO = (data[name].astype(np.float64) for name in ("P", "K", "V", "O", "dO"))  # noqa: E741
    dS = P * (dO @ V.swapaxes(1, 2) - (O * dO).sum(axis=-1, keepdims=True))
    return {"dQ": float(data["scale"]) * dS @ K}


exercise = Exercise(
    title="Repair: a gradient that is right as long as dO is 1",
    reference=reference,
    atol=1e-5,
    cases=(
        Case("dO = 1 everywhere", data(2, 9, 16, ones=True), launch),
        Case("4 queries, random dO", data(2, 4, 40), launch),
        Case("9 queries, random dO", data(2, 9, 16), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("causal, more queries than keys", data(1, 9, 6, causal=True), launch),
        Case("another shape", data(1, 6, 33, causal=True), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in lengths(rng, 4, 32)],
    hints=(
        "Where dO is 1 everywhere, every row of it looks the same. Which of the five arrays points at another row than the rest?",
        "r counts the warps of this block, 0 to 3. The query's number among all is `row`: `dO += (head * Nq + row) * d;`.",
    ),
)
