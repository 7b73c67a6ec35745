import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

T, d = 32, 64


def attention(Q, K, V, scale, causal):
    """P, O, LSE in float64. Query heads that lie together share a key head; causal: query i sees keys up to i + Nk - Nq."""
    Nq, Nk, group = Q.shape[2], K.shape[2], Q.shape[1] // K.shape[1]
    S = scale * Q @ K.repeat(group, axis=1).swapaxes(2, 3)
    S = np.where(np.tri(Nq, Nk, Nk - Nq if causal else Nk, dtype=bool), S, -np.inf)
    m = np.maximum(S.max(axis=-1, keepdims=True), -1e300)  # finite where a query sees no key
    E = np.exp(S - m)
    total = E.sum(axis=-1, keepdims=True)
    P = E / np.where(total > 0, total, 1)
    with np.errstate(divide="ignore"):
        return P, P @ V.repeat(group, axis=1), (m + np.log(total))[..., 0]


def data(batch, heads, kv_heads, Nq, Nk, causal=False, spread=1.0, pass_dq=True):
    """Q, dO, dQ: (batch, heads, Nq, 64), K, V, dK, dV: (batch, kv_heads, Nk, 64), LSE, delta: (batch, heads, Nq), float32; dQ is 0, or null."""

    def make(rng):
        Q, dO = rng.standard_normal((2, batch, heads, Nq, d)).astype(np.float32)
        K, V = rng.standard_normal((2, batch, kv_heads, Nk, d)).astype(np.float32)
        Q *= np.float32(spread)
        _, O, LSE = attention(*(a.astype(np.float64) for a in (Q, K, V)), d**-0.5, causal)  # noqa: E741
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "dO": dO,
            "LSE": LSE.astype(np.float32),
            "delta": (O * dO).sum(axis=-1).astype(np.float32),
            "dQ": np.zeros_like(Q) if pass_dq else np.uintp(0),
            "dK": np.empty_like(K),
            "dV": np.empty_like(V),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "heads": np.int32(heads),
            "kv_heads": np.int32(kv_heads),
            "scale": np.float32(d**-0.5),
            "causal": np.int32(causal),
            "cu_q": np.uintp(0),
            "cu_k": np.uintp(0),
        }

    return make


def packed(heads, kv_heads, lengths, causal=False):
    """Sequences of (Nq, Nk) rows, packed: Q, dO, dQ: (heads, sum of Nq, 64), K, V, dK, dV: (kv_heads, sum of Nk, 64), LSE, delta: (heads, sum of Nq)."""

    def make(rng):
        ones = [data(1, heads, kv_heads, Nq, Nk, causal)(rng) for Nq, Nk in lengths]
        arrays = {name: np.concatenate([one[name][0] for one in ones], axis=1) for name in ("Q", "K", "V", "dO", "LSE", "delta", "dQ", "dK", "dV")}
        starts = np.cumsum([(0, 0), *lengths], axis=0, dtype=np.int32)
        longest = {"Nq": np.int32(max(lengths)[0]), "Nk": np.int32(max(Nk for _, Nk in lengths))}
        return ones[0] | arrays | longest | {"cu_q": starts[:, 0].copy(), "cu_k": starts[:, 1].copy()}

    return make


def launch(data):
    batch = data["cu_q"].size - 1 if data["cu_q"].ndim else data["Q"].shape[0]
    grid = (ceil_div(int(data["Nk"]), T), int(data["kv_heads"]), batch)
    return Launch(grid, 4 * T, "Q K V dO LSE delta dQ dK dV Nq Nk heads kv_heads scale causal cu_q cu_k")


def gradients(Q, K, V, dO, scale, causal):
    """dQ, dK and dV in float64, from arrays of (batch, heads or kv_heads, N, 64)."""
    group = Q.shape[1] // K.shape[1]
    P, O, _ = attention(Q, K, V, scale, causal)  # noqa: E741
    dP = dO @ V.repeat(group, axis=1).swapaxes(2, 3)
    dS = P * (dP - (O * dO).sum(axis=-1, keepdims=True))

    def collected(W, X):
        """W^T X of each query head, added up over the heads that share a key head."""
        each = W.swapaxes(2, 3) @ X
        return each.reshape(*K.shape[:2], group, *K.shape[2:]).sum(axis=2)

    return {"dQ": scale * dS @ K.repeat(group, axis=1), "dK": scale * collected(dS, Q), "dV": collected(P, dO)}


def reference(data):
    """dQ (where it is asked for), dK and dV in float64, from Q, K, V and dO alone; packed sequences one by one."""
    arrays = [data[name].astype(np.float64) for name in ("Q", "K", "V", "dO")]
    scale, causal = float(data["scale"]), bool(data["causal"])
    if data["cu_q"].ndim:
        q_parts, k_parts = (list(zip(starts[:-1], starts[1:], strict=True)) for starts in (data["cu_q"], data["cu_k"]))
        each = [
            gradients(*(a[None, :, slice(*rows)] for a, rows in zip(arrays, (q, k, k, q), strict=True)), scale, causal)
            for q, k in zip(q_parts, k_parts, strict=True)
        ]
        answer = {name: np.concatenate([one[name][0] for one in each], axis=1) for name in each[0]}
    else:
        answer = gradients(*arrays, scale, causal)
    return {name: answer[name] for name in answer if data[name].ndim}


def asked_bytes(heads, Nq, Nk):
    """Bytes asked of global memory without dQ: K and V read once, dK and dV written; Q, dO, LSE and delta read by every block of keys."""
    return 4 * heads * (4 * Nk * d + ceil_div(Nk, T) * Nq * (2 * d + 2))


example = Example(
    title="FlashAttention backward, float32, one block for 32 keys",
    reference=reference,
    updates=("dQ",),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("one query, one key", data(1, 1, 1, 1, 1), launch),
        Case("full tiles, 2 heads", data(1, 2, 2, 64, 96, pass_dq=False), launch),
        Case("one short of a tile, one more than a tile", data(1, 1, 1, 31, 33), launch),
        Case("2 sequences, 4 query heads on 2 key heads, causal", data(2, 4, 2, 20, 40, causal=True), launch),
        Case("causal, more queries than keys", data(1, 2, 1, 45, 33, causal=True), launch),
        Case("packed: 3, 0, 33 and 1 queries, causal", packed(2, 1, [(3, 40), (0, 5), (33, 30), (1, 1)], causal=True), launch),
        Case("scores far apart", data(1, 1, 1, 32, 40, spread=10.0), launch),
    ),
    budget=Budget(
        "full tiles, 2 heads",
        "K and V once, Q, dO, LSE and delta once for each 32 keys, dK and dV written",
        global_bytes=asked_bytes(2, 64, 96),
    ),
)
