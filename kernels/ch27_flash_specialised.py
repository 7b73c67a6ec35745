import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div


def data(heads, Nq, Nk):
    """Q: (heads, Nq, 64), K, V: (heads, Nk, 64), O like Q: fp16; LSE: (heads, Nq), float32."""

    def make(rng):
        Q, K, V = (rng.standard_normal((heads, N, 64), dtype=np.float32).astype(np.float16) for N in (Nq, Nk, Nk))
        LSE = np.empty((heads, Nq), np.float32)
        return {"Q": Q, "K": K, "V": V, "O": np.empty_like(Q), "LSE": LSE, "Nq": np.int32(Nq), "Nk": np.int32(Nk), "scale": np.float32(0.125)}

    return make


def launch(data):
    heads, Nq, _ = data["Q"].shape
    maps = tuple(TensorMap(name, (1, 64, 64), "128B") for name in ("Q", "K", "V"))
    return Launch((ceil_div(Nq, 128), heads), 384, (*maps, "O", "LSE", "Nq", "Nk", "scale"), 65536)


def reference(data):
    """Attention and log-sum-exp in float64."""
    Q, K, V = (data[name].astype(np.float64) for name in ("Q", "K", "V"))
    S = Q @ K.transpose(0, 2, 1) * 0.125
    top = S.max(axis=-1, keepdims=True)
    P = np.exp(S - top)
    total = P.sum(axis=-1, keepdims=True)
    return {"O": P @ V / total, "LSE": (top + np.log(total))[..., 0]}


example = Example(
    title="Attention: one warp loads, two warpgroups compute",
    reference=reference,
    rtol=2.0**-11,  # O is rounded to fp16
    atol=2e-3,  # P is rounded to fp16; 2^-11 of each of its terms
    cases=(
        Case("two tiles", data(1, 128, 128), launch),
        Case("one of each", data(1, 1, 1), launch),
        Case("ragged, two heads, five tiles of keys", data(2, 65, 290), launch),
    ),
    budget=Budget("two tiles", "Q in two boxes, K and V in one a tile; all threads meet once, before they part", tma_requests=6, barriers=1),
)
