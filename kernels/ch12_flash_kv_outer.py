import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

d, Br, Bc = 32, 32, 32


def data(N, spread=1.0):
    """Q, K, V, O: (N, 32), m, l: (N), float32. O, m and l begin as the state of no keys."""
    return lambda rng: {
        "Q": spread * rng.standard_normal((N, d), dtype=np.float32),
        "K": rng.standard_normal((N, d), dtype=np.float32),
        "V": rng.standard_normal((N, d), dtype=np.float32),
        "O": np.zeros((N, d), np.float32),
        "m": np.full(N, -np.inf, np.float32),
        "l": np.zeros(N, np.float32),
        "N": np.int32(N),
        "scale": np.float32(d**-0.5),
    }


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=1, keepdims=True)
    return {"O": P @ V / total, "m": m[:, 0], "l": total[:, 0]}


def asked_bytes(N):
    """Bytes asked of global memory: K and V once; for each key tile Q, O, m, l read and O, m, l written."""
    return 4 * (2 * N * d + ceil_div(N, Bc) * (3 * N * d + 4 * N))


example = Example(
    title="Attention in one kernel, keys in the outer loop (FlashAttention-1)",
    reference=reference,
    updates=("O", "m", "l"),
    rtol=2e-5,
    atol=2e-5,
    cases=(
        Case("64 queries and keys", data(64), Launch(1, 4 * Br, "Q K V O m l N scale")),
        Case("one query, one key", data(1), Launch(1, 4 * Br, "Q K V O m l N scale")),
        Case("one more than a tile", data(33), Launch(1, 4 * Br, "Q K V O m l N scale")),
        Case("scores far apart", data(40, 30.0), Launch(1, 4 * Br, "Q K V O m l N scale")),
    ),
    budget=Budget("64 queries and keys", "K and V once, Q, O, m and l once for each of 2 key tiles", global_bytes=asked_bytes(64)),
)
