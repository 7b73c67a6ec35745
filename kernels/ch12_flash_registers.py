import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

d, Br, Bc = 64, 128, 64
SHARED = 4 * (68 * (Br + 2 * Bc) + 72 * Br)  # bytes: padded rows of Q, K, V, and P


def data(heads, Nq, Nk, causal=0, spread=1.0):
    """Q, O: (heads, Nq, 64), K, V: (heads, Nk, 64), LSE: (heads, Nq), float32."""
    return lambda rng: {
        "Q": spread * rng.standard_normal((heads, Nq, d), dtype=np.float32),
        "K": rng.standard_normal((heads, Nk, d), dtype=np.float32),
        "V": rng.standard_normal((heads, Nk, d), dtype=np.float32),
        "O": np.empty((heads, Nq, d), np.float32),
        "LSE": np.empty((heads, Nq), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(d**-0.5),
        "causal": np.int32(causal),
    }


def launch(data):
    heads, Nq, _ = data["O"].shape
    return Launch((ceil_div(Nq, Br), heads), 128, "Q K V O LSE Nq Nk scale causal", SHARED)


def reference(data):
    """Attention and log-sum-exp in float64; a row that sees no key: 0 and -inf."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.swapaxes(1, 2)
    _, Nq, Nk = S.shape
    if data["causal"]:
        S = np.where(np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq, S, -np.inf)
    m = S.max(axis=-1, keepdims=True)
    P = np.exp(S - np.where(m == -np.inf, 0.0, m))
    total = P.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return {"O": P @ V / np.where(total > 0, total, 1.0), "LSE": (m + np.log(total))[..., 0]}


example = Example(
    title="FlashAttention forward in float32, 8 x 8 scores a thread",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,
    cases=(
        Case("full tiles", data(1, 128, 128), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("ragged, 2 heads", data(2, 129, 65), launch),
        Case("causal, more keys than queries", data(1, 100, 130, 1), launch),
        Case("causal, rows without a key", data(1, 70, 40, 1), launch),
        Case("scores far apart", data(1, 32, 70, 0, 30.0), launch),
    ),
    budget=Budget("full tiles", "Q, K, V and O once: all queries fit one block; LSE 4 rows a request, half a sector", global_bytes=4 * (4 * 128 * d + 2 * 128)),
)
