import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

d, T = 64, 16


def data(heads, Nq, Nk, causal=False):
    """P, dP: (heads, Nq, Nk), Q, dO: (heads, Nq, 64), V, dK, dV: (heads, Nk, 64), delta: (heads, Nq), float32. Causal as in chapter 13."""

    def make(rng):
        Q, dO = rng.standard_normal((2, heads, Nq, d))
        K, V = rng.standard_normal((2, heads, Nk, d))
        E = np.exp(d**-0.5 * Q @ K.swapaxes(1, 2)) * np.tri(Nq, Nk, Nk - Nq if causal else Nk)
        total = E.sum(axis=-1, keepdims=True)
        P = np.divide(E, total, where=total > 0, out=np.zeros_like(E))
        dP = dO @ V.swapaxes(1, 2)
        arrays = {"P": P, "dP": dP, "Q": Q, "V": V, "dO": dO, "delta": (P * dP).sum(axis=-1)}
        return {name: array.astype(np.float32) for name, array in arrays.items()} | {
            "dK": np.empty((heads, Nk, d), np.float32),
            "dV": np.empty((heads, Nk, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    heads, Nk, _ = data["dK"].shape
    return Launch((ceil_div(Nk, T), heads), (T, T), "P dP Q V dO delta dK dV Nq Nk scale")


def reference(data):
    P, Q, V, dO, delta = (data[name].astype(np.float64) for name in ("P", "Q", "V", "dO", "delta"))
    dS = P * (dO @ V.swapaxes(1, 2) - delta[..., None])
    return {"dK": float(data["scale"]) * dS.swapaxes(1, 2) @ Q, "dV": P.swapaxes(1, 2) @ dO}


exercise = Exercise(
    title="dK and dV without a stored dP",
    reference=reference,
    atol=1e-5,
    cases=(
        Case("96 queries, 16 keys", data(1, 96, 16), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("ragged, 2 heads", data(2, 15, 17), launch),
        Case("causal, more queries than keys", data(1, 18, 9, causal=True), launch),
        Case("another shape", data(1, 17, 20, causal=True), launch, visible=False),
    ),
    budget=Budget(
        "96 queries, 16 keys",
        "one block reads Q, dO, V and P once and writes dK and dV; each of its 8 warps asks for the sector of its delta in 6 tiles",
        global_bytes=4 * (2 * 96 * d + 3 * 16 * d + 96 * 16) + 6 * 8 * 32,
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in lengths(rng, T, T)],
    hints=(
        "dP[i][j] is the product of row i of dO and row j of V. Both tiles are in shared memory already: dOs and Vs.",
        "`float dp = 0.0f; for (int c = 0; c < d; ++c) dp += dOs[y][c] * Vs[x][c];` costs 64 multiply-adds and no byte of global memory.",
    ),
)
