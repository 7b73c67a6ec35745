import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div

d, Br, Bc = 32, 16, 32


def data(queries, keys, heads, causal=0):
    """`queries`, `keys`: the length of each sequence. Q, O: (all queries, heads, 32), K, V: (all keys, heads, 32), LSE: (heads, all queries); no trace."""
    cu_q, cu_k = (np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32) for lengths in (queries, keys))
    return lambda rng: {
        "Q": rng.standard_normal((cu_q[-1], heads, d), dtype=np.float32),
        "K": rng.standard_normal((cu_k[-1], heads, d), dtype=np.float32),
        "V": rng.standard_normal((cu_k[-1], heads, d), dtype=np.float32),
        "O": np.empty((cu_q[-1], heads, d), np.float32),
        "LSE": np.empty((heads, cu_q[-1]), np.float32),
        "cu_q": cu_q.copy(),
        "cu_k": cu_k.copy(),
        "scale": np.float32(d**-0.5),
        "causal": np.int32(causal),
        "most": np.int32(ceil_div(max(keys), Bc)),
        "trace": np.uintp(0),
    }


def launch(data):
    heads = len(data["LSE"])
    longest = int(np.diff(data["cu_q"]).max())
    return Launch((ceil_div(longest, Br), heads, len(data["cu_q"]) - 1), 64, "Q K V O LSE cu_q cu_k scale causal most trace")


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


def reference(data):
    return {name: told for name, told in everything(data).items() if name != "trace"}


def states(data):
    return everything(data)["trace"]


def everything(data):
    """O, LSE, and the trace: (heads, all queries, most tiles, 3), where tiles that a sequence doesn't have repeat its last state."""
    heads, rows = data["LSE"].shape
    O, LSE, told = np.empty((rows, heads, d)), np.empty((heads, rows)), np.zeros((heads, rows, int(data["most"]), 3))  # noqa: E741
    for q0, q1, k0, k1 in zip(data["cu_q"], data["cu_q"][1:], data["cu_k"], data["cu_k"][1:], strict=False):
        for h in range(heads):
            O[q0:q1, h], LSE[h, q0:q1], state = attention(data["Q"][q0:q1, h], data["K"][k0:k1, h], data["V"][k0:k1, h], data["causal"])
            told[h, q0:q1, : state.shape[1]] = state
            if state.shape[1]:
                told[h, q0:q1, state.shape[1] :] = state[:, -1:]
    return {"O": O, "LSE": LSE, "trace": told}


def drawn(rng):
    """For hidden cases: lengths beside a tile and beyond one, in a drawn order with an empty sequence, first as many keys as queries, then others."""
    queries = [int(n) for n in rng.permutation((0, 1, Br + int(rng.choice((-1, 1))), Br + int(rng.integers(2, Br))))]
    yield tuple(queries), tuple(queries), 1
    yield tuple(queries), tuple(n and n + int(rng.integers(0, Bc)) for n in queries), int(rng.integers(2))


exercise = Exercise(
    title="Sequences of different lengths, packed",
    reference=reference,
    trace=Trace(states, axes=("head", "packed row"), states=("m", "l", "acc")),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 or more, off by 6e-8 of that, pass through exp
    cases=(
        Case("3 sequences", data((5, 3, 8), (5, 3, 8), 1), launch),
        Case("2 heads, causal", data((3, 7), (3, 7), 2, 1), launch),
        Case("one sequence is empty", data((4, 0, 17), (4, 0, 17), 1), launch),
        Case("more keys than queries, causal", data((1, 3), (33, 9), 1, 1), launch),
        Case("another shape", data((18, 1), (20, 2), 2, 1), launch, visible=False),
    ),
    variation=lambda rng: [
        Case(f"queries {queries}, keys {keys}", data(queries, keys, int(rng.integers(1, 3)), causal), launch)
        for queries, keys, causal in (*drawn(rng), ((1,), (1,), 0), ((3, 9), (3, 4), 1))
    ],
    hints=(
        "blockIdx.z is the sequence; cu_q tells where its queries begin, and where the next one's do. Rows lie heads * 32 floats apart.",
        "s0 = cu_q[blockIdx.z], Nq = cu_q[blockIdx.z + 1] - s0, keys likewise; `if (first >= Nq) return;`. Q moves by ((size_t)s0 * H + head) * d.",
    ),
)
