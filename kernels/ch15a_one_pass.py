import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

d = 64


def data(heads, Nq, Nk, spread=1.0, causal=False):
    """P, dP, dS: (heads, Nq, Nk); O, dO: (heads, Nq, 64); delta: (heads, Nq), float32. Causal: query i sees keys up to i + Nk - Nq."""

    def make(rng):
        S = spread * rng.standard_normal((heads, Nq, Nk))
        E = np.exp(S - S.max(axis=-1, keepdims=True))
        if causal:
            E *= np.tri(Nq, Nk, Nk - Nq)
        total = E.sum(axis=-1, keepdims=True)
        P = np.divide(E, total, where=total > 0, out=np.zeros_like(E))
        V, dO = rng.standard_normal((heads, Nk, d)), rng.standard_normal((heads, Nq, d))
        return {
            "P": P.astype(np.float32),
            "dP": (dO @ V.swapaxes(1, 2)).astype(np.float32),
            "O": (P @ V).astype(np.float32),
            "dO": dO.astype(np.float32),
            "delta": np.empty((heads, Nq), np.float32),
            "dS": np.empty((heads, Nq, Nk), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
        }

    return make


def launch(data):
    heads, Nq = data["delta"].shape
    return Launch((ceil_div(Nq, 4), heads), 128, "P dP O dO delta dS Nq Nk")


def reference(data):
    P, dP, O, dO = (data[name].astype(np.float64) for name in ("P", "dP", "O", "dO"))  # noqa: E741
    delta = (O * dO).sum(axis=-1)
    return {"delta": delta, "dS": P * (dP - delta[..., None])}


exercise = Exercise(
    title="The gradient of the scores in one pass: delta from O and dO",
    reference=reference,
    atol=2e-5,  # 64 products of size 1 or so, and numbers up to 30 that nearly cancel; float32 keeps 6e-8 of them
    cases=(
        Case("8 rows of 128, 2 heads", data(2, 8, 128), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("more keys than lanes", data(1, 5, 45), launch),
        Case("scores far apart", data(1, 4, 40, 30.0), launch),
        Case("more queries than keys, causal", data(2, 9, 6, causal=True), launch),
        Case("another shape", data(3, 7, 33), launch, visible=False),
    ),
    budget=Budget(
        "8 rows of 128, 2 heads",
        "16 rows: 128 floats of P and of dP are 16 sectors each, 64 floats of O and of dO 8",
        global_load_sectors=16 * (2 * 16 + 2 * 8),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in lengths(rng, 4, 32)],
    hints=(
        "64 columns, 32 lanes: each lane multiplies two elements of O and dO and adds them; then five shuffles give the sum to all.",
        "`sum = O[r * d + lane] * dO[r * d + lane] + O[r * d + lane + 32] * dO[r * d + lane + 32]`, five shuffles, then `P * (dP - sum)` for each key.",
    ),
)
