import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

d, Br, Bc = 32, 16, 16


def data(Nq, Nk, size=1.0):
    """Q: (Nq, 32), K, V: (Nk, 32), fp16; O: (Nq, 32), LSE: (Nq), float32. Q is `size` times a normal number."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d)) for n in (Nq, Nk, Nk))
        out = {"O": np.empty((Nq, d), np.float32), "LSE": np.empty(Nq, np.float32)}
        sizes = {"Nq": np.int32(Nq), "Nk": np.int32(Nk), "scale": np.float32(d**-0.5)}
        return {"Q": (size * Q).astype(np.float16), "K": K.astype(np.float16), "V": V.astype(np.float16), **out, **sizes}

    return make


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 32, "Q K V O LSE Nq Nk scale")


def reference(data):
    """O and LSE in float64."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    l = P.sum(axis=1, keepdims=True)  # noqa: E741
    return {"O": P @ V / l, "LSE": (m + np.log(l))[:, 0]}


example = Example(
    title="Attention on tensor cores, the weights in registers",
    reference=reference,
    rtol=1e-5,
    atol=2e-3,  # each weight is rounded to fp16 (2**-11 of itself), and a mean of values up to 4 is off by no more than 4 times that
    cases=(
        Case("two tiles of keys", data(16, 32), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("ragged", data(17, 33), launch),
        Case("scores far apart", data(15, 31, 30.0), launch),
    ),
    budget=Budget(
        "two tiles of keys",
        "the weights stay in registers",
        shared_store_requests=0,
        shared_load_requests=0,
    ),
)
