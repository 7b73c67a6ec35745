import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, lengths

d, T = 64, 64
SHARED = 5 * T * d * 2 + T * 8


def attention(Q, K, V, scale, causal):
    """P, O, LSE in float64; causal: query i sees keys up to i + Nk - Nq."""
    S = scale * Q @ K.T
    Nq, Nk = S.shape
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


def data(Nq, Nk, spread=1.0, shape=None):
    """Q, dO, dQ: (Nq, 64), K, V, dK, dV: (Nk, 64), rows: (Nq, 2); Q, K, V, dO float16, the others float32; dQ is 0. `shape` changes Q's rows."""

    def make(rng):
        Q, dO = (rng.standard_normal((Nq, d), dtype=np.float32) for _ in range(2))
        K, V = (rng.standard_normal((Nk, d), dtype=np.float32).astype(np.float16) for _ in range(2))
        Q, dO = (spread * (shape(Q) if shape else Q)).astype(np.float16), dO.astype(np.float16)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5, False)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "dO": dO,
            "rows": row_numbers(O, dO.astype(np.float64), LSE),
            "dQ": np.zeros((Nq, d), np.float32),
            "dK": np.empty((Nk, d), np.float32),
            "dV": np.empty((Nk, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch(int(data["Nk"]) // T, 128, "Q K V dO rows dQ dK dV Nq Nk scale", SHARED)


def reference(data):
    """dQ, dK and dV in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    scale = float(data["scale"])
    P, O, _ = attention(Q, K, V, scale, False)  # noqa: E741
    dS = P * (dO @ V.T - (O * dO).sum(axis=-1, keepdims=True))
    return {"dQ": scale * dS @ K, "dK": scale * dS.T @ Q, "dV": P.T @ dO}


def dQ_from(says, read):
    """A Slip: dQ if the warps read(dS, P) from shared memory, tile by tile: queries, upper or lower 8, row, then keys in the same way."""

    def gives(data):
        Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
        scale, Nq = float(data["scale"]), len(Q)
        P, O, _ = attention(Q, K, V, scale, False)  # noqa: E741
        dS = P * (dO @ V.T - (O * dO).sum(axis=-1, keepdims=True))
        dQ = np.zeros((Nq, d))
        for i in range(0, Nq, T):
            for j in range(0, len(K), T):
                rows = min(T, Nq - i)
                tile = [np.pad(x[i : i + T, j : j + T], [(0, T - rows), (0, 0)]).reshape(4, 2, 8, 4, 2, 8) for x in (dS, P)]
                dQ[i : i + rows] += scale * (read(*tile).reshape(T, T) @ K[j : j + T])[:rows]
        return {"dQ": dQ}

    return Slip(says, gives)


exercise = Exercise(
    title="Five products, not seven: dS through shared memory",
    reference=reference,
    updates=("dQ",),
    rtol=2e-3,
    atol=2e-3,  # P and dS are rounded to float16, 5e-4 of numbers up to 1 and up to 30 or so, then added up
    cases=(
        Case("one tile", data(64, 64), launch),
        Case("one query", data(1, 64), launch),
        Case("ragged queries, two tiles of keys", data(65, 128), launch),
        Case("another shape", data(63, 64), launch, visible=False),
    ),
    budget=Budget("one tile", "five products of 2 * 64 * 64 * 64 flops, and 7 more for each pair of a query and a key", flops=5 * 2 * T * T * d + 7 * T * T),
    budget_share=1.0,
    slips=(
        dQ_from("Every 8 x 8 of dS stands as it was stored, a row a key: .trans turns it.", lambda dS, P: dS.transpose(0, 1, 5, 3, 4, 2)),
        dQ_from(
            "The second and the third matrix have changed places: dS lies key by key, so the second one is the next 8 queries of the same keys, `across`.",
            lambda dS, P: dS.transpose(0, 4, 2, 3, 1, 5),
        ),
        dQ_from("All warps have read the dS of the tile's first 16 queries: a warp's queries begin at 16 warp.", lambda dS, P: np.repeat(dS[:1], 4, axis=0)),
        dQ_from(
            "The blocks of 16 keys and of 16 queries have changed places: a row of dSs is a key, so at() takes the warp's queries and the rows 16 k the keys.",
            lambda dS, P: dS.transpose(3, 1, 2, 0, 4, 5),
        ),
        dQ_from("That is P K: dSs holds P.", lambda dS, P: P),
        dQ_from("Keys r and r + 8 have changed places: word h of a register pair is of row lane / 4 + 8 * h.", lambda dS, P: dS[..., ::-1, :]),
    ),
    variation=lambda rng: [Case(f"{Nq} queries", data(Nq, T), launch) for (Nq,) in lengths(rng, T)],
    hints=(
        "What dQ's product wants is in registers already, spread over four warps, and turned: write ds16 to dSs so that a row is a key, wait for the other "
        "warps, and read it with the ldmatrix that transposes.",
        "Word h of ds16[0][j / 2][j % 2 * 2 + h] goes to `tiles::place<Br>(mine + lane / 4 + 8 * h, j)` plus `lane % 4 * 4` bytes; `__syncthreads()`; then "
        "`ptx::ldmatrix_x4_trans(a[0][k], tiles::across<Br>(dSs, 0).at(warp) + 16 * k * Br * 2)`.",
    ),
)
