import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

Br = Bc = 32
d = 64


def data(heads, Nq, Nk, spread=1.0, traced=True):
    """Q, O: (heads, Nq, 64), K, V: (heads, Nk, 64), LSE: (heads, Nq), trace: null or (heads, Nq, ceil(Nk / 32), 2), float32."""
    return lambda rng: {
        "Q": spread * rng.standard_normal((heads, Nq, d), dtype=np.float32),
        "K": rng.standard_normal((heads, Nk, d), dtype=np.float32),
        "V": rng.standard_normal((heads, Nk, d), dtype=np.float32),
        "O": np.empty((heads, Nq, d), np.float32),
        "LSE": np.empty((heads, Nq), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(d**-0.5),
        "trace": np.empty((heads, Nq, ceil_div(Nk, Bc), 2), np.float32) if traced else np.uintp(0),
    }


def launch(data):
    heads, Nq, _ = data["O"].shape
    return Launch((ceil_div(Nq, Br), heads), 4 * Br, "Q K V O LSE Nq Nk scale trace")


def reference(data):
    """Attention, log-sum-exp, and (m, l) of each row after each key tile, in float64."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.swapaxes(1, 2)
    m = S.max(axis=-1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=-1, keepdims=True)
    answer = {"O": P @ V / total, "LSE": (m + np.log(total))[..., 0]}
    if data["trace"].ndim == 0:
        return answer
    trace = np.empty(data["trace"].shape)
    for tile in range(trace.shape[2]):
        seen = S[:, :, : (tile + 1) * Bc]
        trace[:, :, tile, 0] = seen.max(axis=-1)
        trace[:, :, tile, 1] = np.exp(seen - seen.max(axis=-1, keepdims=True)).sum(axis=-1)
    return answer | {"trace": trace}


def asked_bytes(heads, Nq, Nk):
    """Bytes asked of global memory, trace not counted: Q read and O written once, K and V read by every query tile, LSE written."""
    return 4 * heads * (2 * Nq * d + 2 * ceil_div(Nq, Br) * Nk * d + Nq)


example = Example(
    title="FlashAttention forward, float32, one block for 32 queries",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("one query, one key", data(1, 1, 1), launch),
        Case("full tiles, 2 heads", data(2, 64, 96), launch),
        Case("full tiles, no trace", data(2, 64, 96, traced=False), launch),
        Case("one short of a tile", data(1, 31, 31), launch),
        Case("one more than a tile", data(1, 33, 65), launch),
        Case("few queries, many keys", data(2, 3, 130), launch),
        Case("scores far apart", data(1, 32, 70, 30.0), launch),
    ),
    budget=Budget(
        "full tiles, no trace",
        "Q, O and LSE once, K and V once for each tile of queries",
        global_bytes=asked_bytes(2, 64, 96),
    ),
)
