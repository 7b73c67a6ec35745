import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Trace, ceil_div, hard_scores, lengths

d, Br, Bc = 32, 16, 32


def data(Nq, Nk, shape=lambda Q, K: None):
    """Q, O: (Nq, 32), K, V: (Nk, 32), LSE: (Nq), float32; no trace. `shape` edits Q and K in place."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (Nq, Nk, Nk))
        shape(Q, K)
        return {
            "Q": Q,
            "K": K,
            "V": V,
            "O": np.empty((Nq, d), np.float32),
            "LSE": np.empty(Nq, np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
            "trace": np.uintp(0),
        }

    return make


def far_apart(Q, K):
    """Scores up to 100 or so, either side of 0."""
    Q *= 30


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 4 * Br, "Q K V O LSE Nq Nk scale trace")


def scores(data):
    """(Nq, Nk), float64."""
    return float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T


def told(data):
    """Each score, as the kernel tells it: (Nq, Nk, 1)."""
    return scores(data)[:, :, None]



def reference(data):
    S = scores(data)
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=1, keepdims=True)
    return {"O": P @ data["V"].astype(np.float64) / total, "LSE": (m + np.log(total))[:, 0]}


exercise = Exercise(
    title="Q K^T for a tile: 8 scores a thread",
    reference=reference,
    trace=Trace(told, step="key", states=("score",)),
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("16 queries, 64 keys", data(16, 64), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("one more than a tile", data(17, 33), launch),
        Case("scores far apart", data(9, 40, far_apart), launch),
        Case("another shape", data(15, 70, far_apart), launch, visible=False),
    ),
    budget=Budget(
        "16 queries, 64 keys",
        "2 tiles x 2 warps: 32 words of Ks and at most 8 x 32 of Qs, each in one pass; P V takes 160",
        shared_load_wavefronts=2 * 2 * (32 + 8 * 32 + 160),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s, hard_scores(rng)), launch) for s in lengths(rng, Br, Bc)],
    hints=(
        "A lane is a key: it reads along row `lane` of Ks, while the 8 queries of its warp are the same for all lanes. "
        "32 lanes read 32 rows of Ks: where must the rows begin?",
        "Rows of d + 1 floats. For c in 0 .. d - 1: `key = Ks[lane][c]`, then `s[i] += Qs[mine + i][c] * key` for 8 rows; at the end multiply by scale.",
    ),
)
