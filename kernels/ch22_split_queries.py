import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div

d, Br, Bc = 64, 64, 64
SHARED = 2 * d * (Br + 2 * Bc)


def data(heads, Nq, Nk, causal=0, spread=1.0):
    """Q, O: (heads, Nq, 64), K, V: (heads, Nk, 64), float16; LSE: (heads, Nq), float32."""

    def make(rng):
        Q, K, V = (rng.standard_normal((heads, n, d), dtype=np.float32) for n in (Nq, Nk, Nk))
        return {
            "Q": (spread * Q).astype(np.float16),
            "K": K.astype(np.float16),
            "V": V.astype(np.float16),
            "O": np.empty((heads, Nq, d), np.float16),
            "LSE": np.empty((heads, Nq), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
            "causal": np.int32(causal),
        }

    return make


def launch(data):
    return Launch((ceil_div(len(data["Q"][0]), Br), len(data["Q"])), 128, "Q K V O LSE Nq Nk scale causal", SHARED)


def reference(data):
    """O and LSE in float64; 0 and -inf for a row that sees no key."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.transpose(0, 2, 1)
    Nq, Nk = S.shape[1:]
    if data["causal"]:
        S = np.where(np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq, S, -np.inf)
    m = S.max(axis=2, keepdims=True)
    P = np.exp(S - np.where(m == -np.inf, 0.0, m))
    total = P.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        return {"O": P @ V / np.where(total > 0, total, 1.0), "LSE": (m + np.log(total))[..., 0]}


example = Example(
    title="Attention on tensor cores: warps split the queries, all ideas on",
    reference=reference,
    rtol=2e-3,
    atol=4e-3,  # P and O are rounded to float16: 5e-4 of numbers up to 4, and of O
    cases=(
        Case("one query, one key", data(1, 1, 1), launch),
        Case("two heads, all keys, ragged", data(2, 65, 130), launch),
        Case("causal, two tiles", data(1, 128, 128, 1), launch),
        Case("causal, more keys than queries, far apart", data(1, 63, 129, 1, 20.0), launch),
        Case("causal, rows and tiles without a key", data(1, 200, 40, 1), launch),
    ),
)
