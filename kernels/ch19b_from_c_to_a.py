import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch

d = 16


def scores(data):
    """(16, Nk), float64."""
    return float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T


def data(Nk, size=1.0):
    """Q: (16, 16), K, V: (Nk, 16), fp16; LSE: (16), O: (16, 16), float32. Q is `size` times a normal number; V is positive."""

    def make(rng):
        Q, K = (size * rng.standard_normal((16, d))).astype(np.float16), rng.standard_normal((Nk, d)).astype(np.float16)
        made = {"Q": Q, "K": K, "V": (1 + rng.random((Nk, d))).astype(np.float16), "scale": np.float32(d**-0.5), "Nk": np.int32(Nk)}
        S = scores(made)
        m = S.max(axis=1)
        lse = m + np.log(np.exp(S - m[:, None]).sum(axis=1))
        return {**made, "LSE": lse.astype(np.float32), "O": np.empty((16, d), np.float32)}

    return make


def reference(data):
    """O in float64, from the LSE that was given."""
    return {"O": np.exp(scores(data) - data["LSE"][:, None].astype(np.float64)) @ data["V"].astype(np.float64)}


launch = Launch(1, 32, "Q K V LSE O Nk scale")

exercise = Exercise(
    title="From C to A without a detour",
    reference=reference,
    atol=1e-5,  # weights below fp16's normal numbers
    rtol=1e-3,  # each weight is rounded to fp16: 2**-11 of itself, and V is positive
    cases=(
        Case("16 keys", data(16), launch),
        Case("48 keys", data(48), launch),
        Case("scores far apart", data(32, 12.0), launch),
        Case("other numbers", data(32), launch, visible=False),
    ),
    budget=Budget("48 keys", "a lane already holds what it needs", shared_store_requests=0, shared_load_requests=0),
    budget_share=1.0,
    variation=lambda rng: [Case(f"{tiles} tiles", data(16 * tiles, float(rng.integers(1, 9))), launch) for tiles in (1, int(rng.integers(2, 5)))],
    hints=(
        "Lay the picture of C (two of them, side by side) on that of A: which elements does your lane hold in the one, and which must it hold in the other?",
        "Register 0 of A holds row `group`, columns `pair` and `pair + 1`: these are `s[0][0]` and `s[0][1]`. "
        "`ptx::pack2(low, high, __half())` packs two floats. "
        "Row `group + 8` is `s[0][2]`, `s[0][3]`; 8 columns further is `s[1]`.",
    ),
)
