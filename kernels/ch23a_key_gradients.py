import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip, ceil_div, hard_rows, lengths

d, T = 64, 64
SHARED = 4 * T * d * 2 + T * 8


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
    """Q, dO: (Nq, 64), K, V: (Nk, 64), float16; rows: (Nq, 2), dK, dV: (Nk, 64), float32. `shape` changes Q's rows."""

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
            "dK": np.empty((Nk, d), np.float32),
            "dV": np.empty((Nk, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch(ceil_div(int(data["Nk"]), T), 128, "Q K V dO rows dK dV Nq Nk scale", SHARED)


def reference(data):
    """dK and dV in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    scale = float(data["scale"])
    P, O, _ = attention(Q, K, V, scale, False)  # noqa: E741
    dS = P * (dO @ V.T - (O * dO).sum(axis=-1, keepdims=True))
    return {"dK": scale * dS.T @ Q, "dV": P.T @ dO}


def mistaken(
    says,
    weight=lambda S, its: np.exp2(S * np.log2(np.e) - its),
    of=lambda i, j: i,  # the query whose numbers belong to the element (i, j)
    dS=lambda P, dP, delta: P * (dP - delta),
    dK=lambda P, dS, Q, dO: dS.T @ Q,
    dV=lambda P, dS, Q, dO: P.T @ dO,
):
    """A Slip: dK and dV with one step done as in the mistake."""

    def gives(data):
        Q, K, V, dO, rows = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO", "rows"))
        more = -len(Q) % T  # the tile's queries past the last one
        Q, dO = (np.pad(x, [(0, more), (0, 0)]) for x in (Q, dO))
        rows = np.concatenate([rows, np.tile([np.inf, 0.0], (more, 1))])
        numbers = rows[of(*np.indices((len(Q), len(K))))]
        scale = float(data["scale"])
        P = weight(scale * Q @ K.T, numbers[..., 0])
        parts = P, dS(P, dO @ V.T, numbers[..., 1]), Q, dO
        return {"dK": scale * dK(*parts), "dV": dV(*parts)}

    return Slip(says, gives)


def across(X):
    """What add_product sees of a tile whose rows are named `across`, not `down`: of every 16 x 16 numbers two quarters change places."""
    return X.reshape(-1, 2, 8, d // 16, 2, 8).transpose(0, 4, 2, 3, 1, 5).reshape(X.shape)


exercise = Exercise(
    title="dK and dV on tensor cores, from P and dS in registers",
    reference=reference,
    rtol=2e-3,
    atol=2e-3,  # P and dS are rounded to float16, 5e-4 of numbers up to 1 and up to 30 or so, then added up
    cases=(
        Case("one tile", data(64, 64), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one short of a tile, one more than a tile", data(63, 65), launch),
        Case("more than a tile of queries", data(70, 16), launch),
        Case("scores far below 0", data(20, 40, shape=lambda Q: -np.abs(Q)), launch),
        Case("another shape", data(65, 30), launch, visible=False),
    ),
    slips=(
        mistaken("The weights are powers of e: scale2 and its.x have log2 e in them, so the weight is 2^x.", lambda S, its: np.exp(S * np.log2(np.e) - its)),
        mistaken("The weights aren't normalised: take the query's its.x off the exponent.", lambda S, its: np.exp2(S * np.log2(np.e))),
        mistaken("The weights come from scores times scale: x takes scale2.", lambda S, its: np.exp2(S - its)),
        mistaken("dV is right, and dS is P dP: the query's delta, its.y, is taken off dP before.", dS=lambda P, dP, delta: P * dP),
        mistaken("dV is right, and dS is dp - delta: it takes the weight as a factor.", dS=lambda P, dP, delta: dP - delta),
        mistaken("dV is right, and dS has the wrong sign: it is P (dP - delta).", dS=lambda P, dP, delta: P * (delta - dP)),
        mistaken(
            "The numbers are those of a key's place: LSE and delta belong to the query, 8 * j + lane % 4 * 2 + e % 2.", of=lambda i, j: i // T * T + j % 16
        ),
        mistaken("dK is right, and dV is P^T Q: the gradient of V sums up rows of dO.", dV=lambda P, dS, Q, dO: P.T @ Q),
        mistaken("dV is right, and dK is P^T Q: the gradient of K takes dS.", dK=lambda P, dS, Q, dO: P.T @ Q),
        mistaken("dV is right, and dK is dS^T dO: the gradient of K sums up rows of Q.", dK=lambda P, dS, Q, dO: dS.T @ dO),
        mistaken(
            "dV is right, and of Q two quarters of every 16 x 16 numbers changed places: the sum runs over the tile's queries, so B is Q `down`, Q_columns.",
            dK=lambda P, dS, Q, dO: dS.T @ across(Q),
        ),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s, shape=hard_rows(rng) if s[0] > 5 else None), launch) for s in lengths(rng, T, T)],
    hints=(
        "The weight is 2^(s * scale2 - its.x), dS is the weight times (dp - its.y), with the numbers of the query. The accumulators "
        "of S^T lie as A's fragments do: which product takes P^T as A, and what is its B?",
        "`s[0][j][e] = p; dp[0][j][e] = p * (dp[0][j][e] - its.y);`, then `tiles::pack` for s and for dp, `tiles::add_product<d, 1, Br>(dv, p16, dO_columns, "
        "__half())` and the same with dk, ds16 and Q_columns.",
    ),
)
