import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip, ceil_div, hard_rows, lengths

d, T = 64, 64
SHARED = 4 * T * d * 2


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
    """Q, dO: (Nq, 64), K, V: (Nk, 64), float16; rows: (Nq, 2), dQ: (Nq, 64), float32. `shape` changes Q's rows."""

    def make(rng):
        Q, dO = (rng.standard_normal((Nq, d), dtype=np.float32) for _ in range(2))
        K, V = (rng.standard_normal((Nk, d), dtype=np.float32).astype(np.float16) for _ in range(2))
        Q, dO = (spread * (shape(Q) if shape else Q)).astype(np.float16), dO.astype(np.float16)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5, True)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "dO": dO,
            "rows": row_numbers(O, dO.astype(np.float64), LSE),
            "dQ": np.empty((Nq, d), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch(ceil_div(int(data["Nq"]), T), 128, "Q K V dO rows dQ Nq Nk scale", SHARED)


def reference(data):
    """dQ in float64, from Q, K, V and dO alone."""
    Q, K, V, dO = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO"))
    scale = float(data["scale"])
    P, O, _ = attention(Q, K, V, scale, True)  # noqa: E741
    dS = P * (dO @ V.T - (O * dO).sum(axis=-1, keepdims=True))
    return {"dQ": scale * dS @ K}


def everything(i, j, offset):
    return np.full(i.shape, True)


def mistaken(
    says,
    dP=lambda Q, K, V, dO: dO @ V.T,
    weight=lambda S, its: np.exp2(S * np.log2(np.e) - its),
    its_of=lambda i, j: i,  # the query whose LSE, whose delta belongs to the element (i, j)
    delta_of=lambda i, j: i,
    seen=lambda i, j, offset: j <= i + offset,
    dS=lambda P, dP, delta: P * (dP - delta),
    product=lambda dS, K, V: dS @ K,
):
    """A Slip: dQ with one step done as in the mistake."""

    def gives(data):
        Q, K, V, dO, rows = (data[name].astype(np.float64) for name in ("Q", "K", "V", "dO", "rows"))
        i, j = np.indices((len(Q), len(K)))
        offset = len(K) - len(Q)
        rows = np.concatenate([rows, np.tile([np.inf, 0.0], (T, 1))])  # queries past the last one
        S = float(data["scale"]) * Q @ K.T
        P = np.where(seen(i, j, offset), weight(S, rows[its_of(i, j), 0]), 0)
        visited = j // T * T < i // T * T + T + offset  # tiles with a key that a query of the block sees
        return {"dQ": float(data["scale"]) * product(visited * dS(P, dP(Q, K, V, dO), rows[delta_of(i, j), 1]), K, V)}

    return Slip(says, gives)


def across(X):
    """What add_product sees of a tile whose rows are named `across`, not `down`: of every 16 x 16 numbers two quarters change places."""
    n = len(X)
    X = np.pad(X, [(0, -n % 16), (0, 0)])
    return X.reshape(-1, 2, 8, d // 16, 2, 8).transpose(0, 4, 2, 3, 1, 5).reshape(-1, d)


LSE_ROW = "Each thread has two rows, lane / 4 and lane / 4 + 8: e / 2 says which of them the element e is in, and so which of its[0] and its[1] belongs to it."
SLIPS = (
    mistaken("That is dQ with dP = Q V^T: dP is the product of the rows of dO and of V.", dP=lambda Q, K, V, dO: Q @ V.T),
    mistaken("That is dQ with dP = dO K^T: dP is the product of the rows of dO and of V.", dP=lambda Q, K, V, dO: dO @ K.T),
    mistaken("That is dQ with the LSE of another row in places. " + LSE_ROW, its_of=lambda i, j: i - i % 16 + i % 8 + j % 2 * 8),
    mistaken("That is dQ with the delta of another row in places. " + LSE_ROW, delta_of=lambda i, j: i - i % 16 + i % 8 + j % 2 * 8),
    mistaken("That is dQ with the LSE of the thread's other row. " + LSE_ROW, its_of=lambda i, j: i ^ 8),
    mistaken("That is dQ with the delta of the thread's other row. " + LSE_ROW, delta_of=lambda i, j: i ^ 8),
    mistaken("That is dQ with a weight for keys that the query doesn't see: its dS is 0 there.", seen=everything),
    mistaken("That is dQ with the mask aligned top-left: query i sees keys up to i + Nk - Nq.", seen=lambda i, j, offset: j <= i),
    mistaken("That is dQ with dS = P dP: the delta of the row is taken off dP before.", dS=lambda P, dP, delta: P * dP),
    mistaken("That is dQ with dS = P dP - delta: the weight multiplies the difference of the two.", dS=lambda P, dP, delta: P * dP - delta),
    mistaken("That is dQ with delta added: dS is P (dP - delta).", dS=lambda P, dP, delta: P * (dP + delta)),
    mistaken("That is minus dQ: dS is P (dP - delta), not P (delta - dP).", dS=lambda P, dP, delta: P * (delta - dP)),
    mistaken("That is dQ = dP K, without the weights: dS is P (dP - delta).", dS=lambda P, dP, delta: np.where(P > 0, dP, 0)),
    mistaken("That is P K: dQ is a product of dS, which lies in dp, and K.", dS=lambda P, dP, delta: P),
    mistaken("That is S K: dQ is a product of dS, which lies in dp, and K.", weight=lambda S, its: d**0.5 * S, seen=everything, dS=lambda P, dP, delta: P),
    mistaken("That is dQ = dS V: the gradient of Q is a sum of rows of K.", product=lambda dS, K, V: dS @ V),
    mistaken(
        "That is dS times a K of which the two halves off each diagonal changed places: the sum runs over the tile's keys, so B is K_columns, not K_rows.",
        product=lambda dS, K, V: np.pad(dS, [(0, 0), (0, -len(K) % 16)]) @ across(K),
    ),
    mistaken(
        "That is dQ with weights e^x: its[..].x is LSE log2 e and scale2 has log2 e in it, so the weight is 2^x.",
        weight=lambda S, its: np.exp(S * np.log2(np.e) - its),
    ),
    mistaken("That is dQ with scores times scale: x takes scale2, since LSE comes with log2 e in it.", weight=lambda S, its: np.exp2(S - its)),
)

exercise = Exercise(
    title="dQ on tensor cores, in a pass of its own",
    reference=reference,
    rtol=2e-3,
    atol=2e-3,  # dS is rounded to float16, 5e-4 of numbers up to 30 or so, then added up
    cases=(
        Case("one tile: 60 queries, 64 keys", data(60, 64), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one short of a tile, one more than a tile", data(63, 65), launch),
        Case("more queries than keys: some see none", data(70, 30), launch),
        Case("more keys than queries", data(10, 80), launch),
        Case("another shape", data(66, 50), launch, visible=False),
    ),
    slips=SLIPS,
    variation=lambda rng: [Case(f"shape {s}", data(*s, shape=hard_rows(rng) if s[0] > 5 else None), launch) for s in [*lengths(rng, T, T), (70, 9)]],
    hints=(
        "dP is a product of dO and V, row by row, as S is of Q and K. The weight is a power of two: its row's LSE comes with log2 e in it, and so does scale2. "
        "dS is the weight times (dp - delta of its row): which of its[0] and its[1] belongs to e? Then dS lies where A's fragments do.",
        "`tiles::multiply_rows<d, 1, Bc>(dp, dO_rows, V_rows, __half())`; `its[e / 2]`; `p = seen ? ptx::exp2_approx(x) : 0.0f`; `tiles::pack<1, Bc>(ds16, dp, "
        "__half())`; `tiles::add_product<d, 1, Bc>(dq, ds16, K_columns, __half())`.",
    ),
)
