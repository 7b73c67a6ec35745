import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, ceil_div, lengths

d, Br, Bc = 32, 16, 32


def data(batch, Nq, Nk, Hkv, group, causal=0):
    """Q, O: (batch, Nq, Hkv * group, 32), K, V: (batch, Nk, Hkv, 32), LSE: (batch, Hkv * group, Nq), float32; no trace."""
    H = Hkv * group
    return lambda rng: {
        "Q": rng.standard_normal((batch, Nq, H, d), dtype=np.float32),
        "K": rng.standard_normal((batch, Nk, Hkv, d), dtype=np.float32),
        "V": rng.standard_normal((batch, Nk, Hkv, d), dtype=np.float32),
        "O": np.empty((batch, Nq, H, d), np.float32),
        "LSE": np.empty((batch, H, Nq), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(d**-0.5),
        "causal": np.int32(causal),
        "group": np.int32(group),
        "trace": np.uintp(0),
    }


def launch(data):
    batch, H, Nq = data["LSE"].shape
    group = int(data["group"])
    return Launch((ceil_div(Nq * group, Br), H // group, batch), 64, "Q K V O LSE Nq Nk scale causal group trace")


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
    batch, H, _ = data["LSE"].shape
    Q, K, V, group = data["Q"], data["K"], data["V"], int(data["group"])
    return [[attention(Q[b, :, h], K[b, :, h // group], V[b, :, h // group], data["causal"]) for h in range(H)] for b in range(batch)]


def states(data):
    return np.array([[one[2] for one in heads] for heads in answers(data)])


def reference(data):
    each = answers(data)
    O = np.array([[one[0] for one in heads] for heads in each])  # noqa: E741
    return {"O": O.swapaxes(1, 2), "LSE": np.array([[one[1] for one in heads] for heads in each])}


exercise = Exercise(
    title="One block for all query heads of a group",
    reference=reference,
    trace=Trace(states, axes=("batch", "head", "row"), states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 or more, off by 6e-8 of that, pass through exp
    cases=(
        Case("nobody shares", data(1, 5, 9, 1, 1), launch),
        Case("4 heads share, 4 queries, 40 keys", data(1, 4, 40, 2, 4), launch),
        Case("3 heads share, causal", data(1, 7, 9, 1, 3, 1), launch),
        Case("rows without a key", data(1, 6, 3, 1, 2, 1), launch),
        Case("another shape", data(2, 5, 33, 1, 4, 1), launch, visible=False),
    ),
    budget=Budget(
        "4 heads share, 4 queries, 40 keys",
        "16 rows of a group in one tile, so 40 keys and values once for each of 2 groups; LSE of a head are 16 bytes, half a sector",
        global_bytes=4 * (2 * 4 * 8 * d + 2 * 2 * 40 * d) + 16 * 32,
    ),
    variation=lambda rng: [
        Case(f"{group} heads share, {Nq} queries, {Nk} keys", data(2, Nq, Nk, 2, group, causal), launch)
        for (Nq, Nk), group, causal in (*zip(lengths(rng, Br // 2, Bc), map(int, rng.permutation((2, 3, 5))), (1, 0, 1), strict=True), ((9, 4), 2, 1))
    ],
    hints=(
        "Let the head run fastest: rows 0 .. group - 1 are query 0 of the group's heads, and neighbours in Q. Which query is row p, and which head?",
        "Query p / group, head p % group. In Q and O that row lies (p / group) * H + p % group rows further on, in LSE at p % group * Nq + p / group.",
    ),
)
