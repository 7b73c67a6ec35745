import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

d, T = 64, 64
SHARED = 5 * T * d * 2 + T * 8


def attention(Q, K, V, scale, causal):
    """P, O, LSE in float64; causal: query i sees keys up to i + Nk - Nq."""
    S = scale * Q @ K.swapaxes(1, 2)
    Nq, Nk = S.shape[1:]
    S = np.where(np.tri(Nq, Nk, Nk - Nq if causal else Nk, dtype=bool), S, -np.inf)
    m = np.maximum(S.max(axis=-1, keepdims=True), -1e300)  # finite where a query sees no key
    E = np.exp(S - m)
    total = E.sum(axis=-1, keepdims=True)
    P = E / np.where(total > 0, total, 1)
    with np.errstate(divide="ignore"):
        return P, P @ V, (m + np.log(total))[..., 0]


def row_numbers(O, dO, LSE):  # noqa: E741
    """What ch23_row_numbers makes: LSE log2 e (infinity where a query sees no key) and delta."""
    sees = LSE > -np.inf
    delta = (O * dO).sum(axis=-1)
    return np.stack([np.where(sees, LSE * np.log2(np.e), np.inf), np.where(sees, delta, 0)], axis=-1).astype(np.float32)


def data(heads, Nq, Nk, causal=False, spread=1.0, pass_dq=True):
    """Q, dO: (heads, Nq, 64), K, V, dK, dV: (heads, Nk, 64), float16; rows: (heads, Nq, 2), dQ: (heads, Nq, 64), 0 or null, float32."""

    def make(rng):
        Q, dO = (rng.standard_normal((heads, Nq, d), dtype=np.float32) for _ in range(2))
        K, V = (rng.standard_normal((heads, Nk, d), dtype=np.float32).astype(np.float16) for _ in range(2))
        Q, dO = (spread * Q).astype(np.float16), dO.astype(np.float16)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5, causal)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "dO": dO,
            "rows": row_numbers(O, dO.astype(np.float64), LSE),
            "dQ": np.zeros((heads, Nq, d), np.float32) if pass_dq else np.uintp(0),
            "dK": np.empty_like(K),
            "dV": np.empty_like(V),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
            "causal": np.int32(causal),
        }

    return make


def launch(data):
    heads, Nk, _ = data["K"].shape
    return Launch((ceil_div(Nk, T), heads), 128, "Q K V dO rows dQ dK dV Nq Nk scale causal", SHARED)


def gradients(data):
    """dQ, dK and dV in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    scale = float(data["scale"])
    P, O, _ = attention(Q, K, V, scale, bool(data["causal"]))  # noqa: E741
    dS = P * (dO @ V.swapaxes(1, 2) - (O * dO).sum(axis=-1, keepdims=True))
    return {"dQ": scale * dS @ K, "dK": scale * dS.swapaxes(1, 2) @ Q, "dV": P.swapaxes(1, 2) @ dO}


def reference(data):
    return {name: right for name, right in gradients(data).items() if data[name].ndim}


def product(Nq, Nk):
    """Flops of one of the five products."""
    return 2 * Nq * Nk * d


example = Example(
    title="dK, dV and dQ on tensor cores, a block keeps 64 keys",
    reference=reference,
    updates=("dQ",),
    rtol=2e-3,
    atol=2e-3,  # P and dS are rounded to float16, 5e-4 of numbers up to 1 and up to 30 or so, then added up
    cases=(
        Case("one tile", data(1, 64, 64), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("ragged, 2 heads, without dQ", data(2, 65, 70, pass_dq=False), launch),
        Case("one short of a tile, one more than a tile", data(1, 63, 129), launch),
        Case("causal, 2 heads", data(2, 70, 100, causal=True), launch),
        Case("causal, queries without a key", data(1, 130, 65, causal=True), launch),
        Case("scores far apart", data(1, 64, 64, spread=20.0), launch),
    ),
    budget=Budget(
        "one tile",
        "five products of 2 * 64 * 64 * 64 flops and 7 more for each pair; each number of dQ is added to once",
        flops=5 * product(64, 64) + 7 * 64 * 64,
        atomics=64 * d,
    ),
)
