import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div, lengths

d, Br, Bc = 32, 16, 32


def data(batch, Nq, Nk, Hq, Hkv, causal=0, rows_first=True, spread=1.0):
    """Q, O: (batch, Nq, Hq, 32), K, V: (batch, Nk, Hkv, 32), LSE: (batch, Hq, Nq), float32; no trace. Not `rows_first`: heads before rows in all but LSE."""

    def shape(N, H):
        return (batch, N, H, d) if rows_first else (batch, H, N, d)

    def strides(N, H):
        """Of batch, row and head, in elements."""
        return (N * H * d, H * d, d) if rows_first else (N * H * d, d, N * d)

    def make(rng):
        q, k = strides(Nq, Hq), strides(Nk, Hkv)
        return {
            "Q": spread * rng.standard_normal(shape(Nq, Hq), dtype=np.float32),
            "K": rng.standard_normal(shape(Nk, Hkv), dtype=np.float32),
            "V": rng.standard_normal(shape(Nk, Hkv), dtype=np.float32),
            "O": np.empty(shape(Nq, Hq), np.float32),
            "LSE": np.empty((batch, Hq, Nq), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
            "causal": np.int32(causal),
            "group": np.int32(Hq // Hkv),
            **{name: np.int32(value) for name, value in zip(("q_batch", "q_row", "q_head"), q, strict=True)},
            **{name: np.int32(value) for name, value in zip(("k_batch", "k_row", "k_head"), k, strict=True)},
            "trace": np.uintp(0),
        }

    return make


def launch(data):
    batch, Hq, Nq = data["LSE"].shape
    names = "Q K V O LSE Nq Nk scale causal group q_batch q_row q_head k_batch k_row k_head trace"
    return Launch((ceil_div(Nq, Br), Hq, batch), 64, names)


def attention(Q, K, V, causal):
    """O, LSE and the states (m, l, acc of column 0 after each key tile) of one head: (Nq, 32), (Nq), (Nq, tiles, 3), float64."""
    Q, K, V = (array.astype(np.float64) for array in (Q, K, V))
    S = float(np.float32(d**-0.5)) * Q @ K.T
    Nq, Nk = S.shape
    if causal:
        S = np.where(np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq, S, -np.inf)
    told = np.zeros((Nq, ceil_div(Nk, Bc), 3))
    m, l, acc = np.full((Nq, 1), -np.inf), np.zeros((Nq, 1)), np.zeros((Nq, d))  # noqa: E741
    for tile in range(told.shape[1]):
        seen = S[:, : (tile + 1) * Bc]
        m = seen.max(axis=1, keepdims=True)
        P = np.exp(seen - np.where(m == -np.inf, 0.0, m))
        l, acc = P.sum(axis=1, keepdims=True), P @ V[: (tile + 1) * Bc]  # noqa: E741
        told[:, tile] = np.concatenate([m, l, acc[:, :1]], axis=1)
    with np.errstate(divide="ignore"):
        return acc / np.where(l > 0, l, 1.0), (m + np.log(l))[:, 0], told


def answers(data):
    """(batch, head) → what `attention` gives for it; and the array of O in its own order of axes."""
    _, Hq, Nq = data["LSE"].shape
    rows_first = data["Q"].shape[1:3] == (Nq, Hq) and data["q_row"] == Hq * d
    Q, K, V = (data[name] if rows_first else data[name].swapaxes(1, 2) for name in "QKV")
    batch, group = len(Q), int(data["group"])
    each = [[attention(Q[b, :, h], K[b, :, h // group], V[b, :, h // group], data["causal"]) for h in range(Hq)] for b in range(batch)]
    O = np.array([[one[0] for one in heads] for heads in each])  # noqa: E741
    return each, O.swapaxes(1, 2) if rows_first else O


def states(data):
    return np.array([[one[2] for one in heads] for heads in answers(data)[0]])


def reference(data):
    each, O = answers(data)  # noqa: E741
    return {"O": O, "LSE": np.array([[one[1] for one in heads] for heads in each])}


exercise = Exercise(
    title="Where is my head? Batch, heads, strides",
    reference=reference,
    trace=Trace(states, axes=("batch", "head", "row"), states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 or more, off by 6e-8 of that, pass through exp
    cases=(
        Case("2 sequences of 2 heads, heads before rows", data(2, 5, 9, 2, 2, 0, False), launch),
        Case("2 sequences of 2 heads, rows before heads", data(2, 5, 9, 2, 2), launch),
        Case("4 query heads, 2 of keys", data(1, 3, 5, 4, 2), launch),
        Case("one head of keys for all, causal", data(2, 4, 6, 3, 1, 1), launch),
        Case("another shape", data(2, 17, 33, 4, 2, 1), launch, visible=False),
    ),
    variation=lambda rng: [
        Case(f"{order} first, {Nq} queries, {Nk} keys", data(2, Nq, Nk, 2, int(rng.choice((1, 2))), causal, order == "rows"), launch)
        for (Nq, Nk), order, causal in (*zip(lengths(rng, Br, Bc), rng.permutation(("rows", "heads", "rows")), (1, 0, 1), strict=True), ((9, 4), "rows", 1))
    ],
    hints=(
        "Two steps for each pointer, one to the sequence and one to the head, each a number times its stride. How many query heads share a head of keys?",
        "`Q += batch * q_batch + head * q_head;` and likewise O; K and V move by k_batch, and by k_head for each `head / group`.",
    ),
)
