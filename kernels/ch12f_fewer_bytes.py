import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, lengths

d = 32


def data(Nq, Nk, spread=1.0):
    """Q, O: (Nq, 32), K, V: (Nk, 32), LSE: (Nq), float32."""
    return lambda rng: {
        "Q": spread * rng.standard_normal((Nq, d), dtype=np.float32),
        "K": rng.standard_normal((Nk, d), dtype=np.float32),
        "V": rng.standard_normal((Nk, d), dtype=np.float32),
        "O": np.empty((Nq, d), np.float32),
        "LSE": np.empty(Nq, np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(d**-0.5),
    }


def launch(data):
    return Launch(2, 64, "Q K V O LSE Nq Nk scale")


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=1, keepdims=True)
    return {"O": P @ V / total, "LSE": (m + np.log(total))[:, 0]}


exercise = Exercise(
    title="Two tile sizes, 8 KB: which one saves bytes?",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("32 queries, 48 keys", data(32, 48), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("17 queries, 25 keys", data(17, 25), launch),
        Case("another shape", data(15, 31, 30.0), launch, visible=False),
    ),
    budget=Budget(
        "32 queries, 48 keys",
        "Q, O and LSE once, K and V for at most 2 tiles of queries",
        global_bytes=4 * (2 * 32 * d + 2 * 2 * 48 * d + 32),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"n = {n}", data(int(rng.integers(2, 16)), n), launch) for (n,) in lengths(rng, 32)],
    hints=(
        "Each tile of queries reads all keys and all values. So how often are they read, and does Bc occur in that "
        "number? What does a large Bc take room from?",
        "32 queries in tiles of Br = 16 read K and V twice. With Bc = 16 the four tiles take 16 * 32 + 16 * 33 + 16 * 32 + 16 * 16 = 1808 floats.",
    ),
)
