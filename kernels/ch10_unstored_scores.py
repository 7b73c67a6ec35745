import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(Nq, Nk, passes, spread=1.0):
    """Q: (64, Nq), K: (Nk, 64), LSE: (Nq), float32. `spread` multiplies the queries."""
    return lambda rng: {
        "Q": spread * rng.standard_normal((64, Nq), dtype=np.float32),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32),
        "LSE": np.empty(Nq, np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(0.125),
        "passes": np.int32(passes),
    }


def launch(data):
    return Launch(ceil_div(data["LSE"].size, 64), 64, "Q K LSE Nq Nk scale passes")


def reference(data):
    S = 0.125 * data["K"].astype(np.float64) @ data["Q"].astype(np.float64)
    m = S.max(axis=0)
    return {"LSE": m + np.log(np.exp(S - m).sum(axis=0))}


example = Example(
    title="Log-sum-exp of scores that are nowhere stored",
    reference=reference,
    rtol=5e-6,  # sums of 64 products, then up to 40 terms of exp
    atol=1e-5,
    cases=(
        Case("two passes", data(8, 40, 2), launch),
        Case("online", data(8, 40, 1), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("more queries than a block", data(65, 3, 2), launch),
        Case("far apart, online", data(8, 40, 1, 30.0), launch),
    ),
)
