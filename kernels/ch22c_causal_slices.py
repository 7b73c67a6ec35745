import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, ceil_div, lengths

d, Br, Bc = 64, 64, 64
SHARED = 2 * d * (Br + 2 * Bc)
SLICE = 2 * (2 * 16 * 16 * d)  # flops of two products of 16 queries and 16 keys
SOFTMAX = 30_000  # flops of a block's tile, rounded up: less than half a slice


def data(Nq, Nk, spread=1.0):
    """Q, O: (Nq, 64), K, V: (Nk, 64), float16; LSE: (Nq), float32."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (Nq, Nk, Nk))
        return {
            "Q": (spread * Q).astype(np.float16),
            "K": K.astype(np.float16),
            "V": V.astype(np.float16),
            "O": np.empty((Nq, d), np.float16),
            "LSE": np.empty(Nq, np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


def launch(data):
    return Launch(ceil_div(len(data["Q"]), Br), 128, "Q K V O LSE Nq Nk scale", SHARED)


def reference(data):
    """O and LSE in float64; 0 and -inf for a row that sees no key."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    Nq, Nk = S.shape
    S = np.where(np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq, S, -np.inf)
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - np.where(m == -np.inf, 0.0, m))
    total = P.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return {"O": P @ V / np.where(total > 0, total, 1.0), "LSE": (m + np.log(total))[:, 0]}


def slices(says, last, mask=lambda i, j, see: j <= i + see, less=0):
    """A Slip: slices of 16 keys as far as the keys 0 .. last(mine, see, Nk) - 1 reach, mine being the warp's first row. Products that were left out are 0,
    whether a query sees the key or not. mask(i, j, see): which are not 0 in P. less: how many slices of a tile P V leaves out before that."""

    def gives(data):
        Q, K, V = (data[name].astype(np.float64) for name in "QKV")
        Nq, Nk = len(Q), len(K)
        i, j = np.indices((Nq, Nk))
        made = np.clip(ceil_div(last(i - i % 16, Nk - Nq, Nk) - j // Bc * Bc, 16), 0, Bc // 16)  # slices of the key's tile
        slice = j % Bc // 16
        S = np.where(slice < made, float(data["scale"]) * Q @ K.T, 0.0)
        S = np.where(mask(i, j, Nk - Nq), S, -np.inf)
        m = S.max(axis=1, keepdims=True)
        P = np.exp(S - np.where(m == -np.inf, 0.0, m))
        total = P.sum(axis=1, keepdims=True)
        O = np.where(slice < made - less, P, 0.0) @ V / np.where(total > 0, total, 1.0)  # noqa: E741
        return {"O": O, "LSE": (m + np.log(total))[:, 0]}

    return Slip(says, gives)


LAST = "The slices must reach as far as the last of the warp's 16 rows sees: row mine + 15, which sees mine + 15 + see + 1 keys."

exercise = Exercise(
    title="Products that nobody sees",
    reference=reference,
    rtol=2e-3,
    atol=4e-3,  # P and O are rounded to float16: 5e-4 of numbers up to 4, and of O
    cases=(
        Case("64 queries and keys", data(64, 64), launch),
        Case("64 queries, 256 keys", data(64, 256), launch),
        Case("16 queries, 64 keys: one warp's edge", data(16, 64, 20.0), launch),
        Case("65 queries, 130 keys", data(65, 130), launch),
        Case("100 queries, 20 keys: rows without a key", data(100, 20), launch),
        Case("another shape", data(63, 131, 10.0), launch, visible=False),
    ),
    slips=(
        slices(
            f"That is the result if a warp makes as many slices as its first row needs, or counts one key too few. {LAST}",
            lambda mine, see, Nk: np.minimum(Nk, mine + see + 1),
        ),
        slices(
            f"That is the result if the last, partial slice of a warp is left out: round up, (keys + 15) / 16. {LAST}",
            lambda mine, see, Nk: np.minimum(Nk, mine + 16 + see) // 16 * 16,
        ),
        slices(f"That is the result if the slices are counted as if query i saw keys up to i. {LAST}", lambda mine, see, Nk: np.minimum(Nk, mine + 16)),
        slices(
            "That is the result if the last slices aren't masked: row i sees keys up to i + see.",
            lambda mine, see, Nk: mine + 16 + see,
            lambda i, j, see: j >= 0,
        ),
        slices(
            "That is the result if P V ends a slice too early: slices 0 .. slices - 1 are needed.",
            lambda mine, see, Nk: np.minimum(Nk, mine + 16 + see),
            less=1,
        ),
    ),
    budget=(
        Budget(
            "64 queries and keys", "the four warps need 1, 2, 3 and 4 slices of 16 keys", flops=10 * SLICE + SOFTMAX, shared_load_wavefronts=4 * 16 + 10 * 32
        ),
        Budget(
            "100 queries, 20 keys: rows without a key",
            "of the second block's warps the first sees no key, the others 16, 20 and 20: 5 slices",
            flops=5 * SLICE + SOFTMAX,
        ),
        Budget("64 queries, 256 keys", "three tiles need all 4 slices of the four warps, the last one 10", flops=(3 * 16 + 10) * SLICE + 4 * SOFTMAX),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(*s, 10.0), launch) for s in lengths(rng, Br, Bc)] + [Case("rows without a key", data(Br + 9, 7), launch)],
    hints=(
        "The warp's rows see different numbers of keys. Past which key of the tile does none of the sixteen see anything?",
        "The last row sees min(Nk, mine + 16 + see) keys: `slices` is that less start, divided by 16 and rounded up, at most 4. Past it, P is 0 too: break.",
    ),
)
