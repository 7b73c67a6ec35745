import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap


def data(heads, group, Nq, Nk, section=2):
    """Q, O: (heads, Nq, 64), K, V: (heads / group, Nk, 64), fp16; LSE: (heads, Nq), float32; ticket: (1), int32, zero."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, N, 64), dtype=np.float32).astype(np.float16) for n, N in ((heads, Nq), (heads // group, Nk), (heads // group, Nk)))
        LSE, ticket = np.empty((heads, Nq), np.float32), np.zeros(1, np.int32)
        numbers = {"Nq": Nq, "Nk": Nk, "heads": heads, "group": group, "section": section}
        return {"Q": Q, "K": K, "V": V, "O": np.empty_like(Q), "LSE": LSE, "ticket": ticket, "scale": np.float32(0.125)} | {
            name: np.int32(number) for name, number in numbers.items()
        }

    return make


maps = tuple(TensorMap(name, (1, 64, 64), "128B") for name in "QKVO")
launch = Launch(2, 384, (*maps, "LSE", "ticket", "Nq", "Nk", "heads", "group", "section", "scale"), 65536)  # two blocks: they take several tiles each


def reference(data):
    """O and LSE in float64; 0 and -inf for a row that sees no key. The ticket is zero again."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    K, V = (np.repeat(x, data["group"], axis=0) for x in (K, V))
    S = Q @ K.transpose(0, 2, 1) * 0.125
    Nq, Nk = S.shape[1:]
    S = np.where(np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq, S, -np.inf)
    m = S.max(axis=2, keepdims=True)
    P = np.exp(S - np.where(m == -np.inf, 0.0, m))
    total = P.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        return {"O": P @ V / np.where(total > 0, total, 1.0), "LSE": (m + np.log(total))[..., 0], "ticket": np.zeros(1, np.int32)}


example = Example(
    title="Causal attention, FlashAttention-3",
    reference=reference,
    updates=("ticket",),
    rtol=2.0**-11,  # O is rounded to fp16
    atol=2e-3,  # P is rounded to fp16: 2^-11 of each of its terms
    cases=(
        Case("one of each", data(1, 1, 1, 1), launch),
        Case("three heads, six tiles", data(3, 1, 150, 200), launch),
        Case("shared keys, ragged", data(4, 2, 130, 131), launch),
        Case("rows and tiles that see no key", data(1, 1, 300, 70), launch),
    ),
    budget=Budget(
        "three heads, six tiles",
        "a head's two tiles see 3 and 4 tiles of keys; Q and O in two boxes each",
        tma_requests=3 * (2 * (3 + 4) + 2 * 2 + 2 * 2),
        atomics=6,
    ),
)
