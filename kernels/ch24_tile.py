import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div

d, Br, Bc = 64, 64, 32
SHARED = 2 * d * (Br + 2 * Bc)


def data(heads, group, Nq, Nk, spread=1.0):
    """Q, O: (heads, Nq, 64), K, V: (heads / group, Nk, 64), float16; LSE: (heads, Nq), float32."""

    def make(rng):
        Q, K, V = (rng.standard_normal((h, n, d), dtype=np.float32) for h, n in ((heads, Nq), (heads // group, Nk), (heads // group, Nk)))
        return {
            "Q": (spread * Q).astype(np.float16),
            "K": K.astype(np.float16),
            "V": V.astype(np.float16),
            "O": np.empty((heads, Nq, d), np.float16),
            "LSE": np.empty((heads, Nq), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "group": np.int32(group),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch((ceil_div(len(data["Q"][0]), Br), len(data["Q"])), 128, "Q K V O LSE Nq Nk group scale", SHARED)


def reference(data):
    """O and LSE in float64."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    K, V = (np.repeat(array, data["group"], axis=0) for array in (K, V))
    S = float(data["scale"]) * Q @ K.transpose(0, 2, 1)
    m = S.max(axis=2, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=2, keepdims=True)
    return {"O": P @ V / total, "LSE": (m + np.log(total))[..., 0]}


example = Example(
    title="One tile of flash2",
    reference=reference,
    rtol=2e-3,
    atol=4e-3,  # P and O are rounded to float16: 5e-4 of numbers up to 4, and of O
    cases=(
        Case("one query, one key", data(1, 1, 1, 1), launch),
        Case("two heads, ragged", data(2, 1, 65, 70), launch),
        Case("two query heads share a key head", data(2, 2, 63, 31), launch),
        Case("far apart", data(1, 1, 20, 97, 20.0), launch),
    ),
)
