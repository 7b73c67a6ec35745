import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, hard_rows, lengths

d = 64
SHARED = 24_576  # bytes: 9 blocks on an SM of 233,472, each with 1,024 for the system


def data(Nq, Nk, shape=lambda Q: Q):
    """Q, O: (Nq, 64), K, V: (Nk, 64), float16. `shape` edits Q."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (Nq, Nk, Nk))
        return {
            "Q": shape(Q).astype(np.float16),
            "K": K.astype(np.float16),
            "V": V.astype(np.float16),
            "O": np.empty((Nq, d), np.float16),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


launch = Launch(1, 128, "Q K V O Nq Nk scale", SHARED)


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return {"O": P @ V / P.sum(axis=1, keepdims=True)}


exercise = Exercise(
    title="The tile that fits",
    reference=reference,
    rtol=2e-3,
    atol=4e-3,  # P and O are rounded to float16: 5e-4 of numbers up to 4, and of O
    cases=(
        Case("128 queries, 96 keys", data(128, 96), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("129 queries, 33 keys", data(129, 33), launch),
        Case("rows far apart", data(40, 70, lambda Q: 20 * Q), launch),
        Case("another shape", data(63, 129), launch, visible=False),
    ),
    budget=Budget(
        "128 queries, 96 keys",
        "Q is read once, K and V once for each tile of 128 queries, 32 keys between two barriers",
        global_load_sectors=2 * (128 * d + 2 * 96 * d) // 32,
        barriers=2 * 96 // 32,
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(*s, hard_rows(rng)), launch) for s in lengths(rng, 128, 32)],
    hints=(
        "How often are K and V read, for N queries? Which of the two sizes occurs in that number, and which only in the shared memory?",
        "128 (Br + 2 Bc) bytes have to be at most 24,576. Take the largest Br first: 192 leaves no room for 16 keys, 128 leaves room for 32.",
    ),
)
