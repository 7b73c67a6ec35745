import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, ceil_div, lengths

d, Br, Bc = 64, 64, 32
SHARED = 16_384  # bytes: 13 blocks on an SM of 233,472, each with 1,024 for the system


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
    """O and LSE in float64."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    m = S.max(axis=1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=1, keepdims=True)
    return {"O": P @ V / total, "LSE": (m + np.log(total))[:, 0]}


def over(says, scored=lambda key: key >= 0, summed=lambda key: key >= 0, more=0):
    """A Slip: the result with the keys that are `scored`, of which P V takes those that are `summed`; `more`: keys of zeros fill up the last tile."""

    def gives(data):
        Q, K, V = (data[name].astype(np.float64) for name in "QKV")
        if more:
            K, V = (np.pad(x, [(0, -len(x) % more), (0, 0)]) for x in (K, V))
        key = np.arange(len(K))
        S = np.where(scored(key), float(data["scale"]) * Q @ K.T, -np.inf)
        m = S.max(axis=1, keepdims=True)
        P = np.exp(S - m)
        total = P.sum(axis=1, keepdims=True)
        return {"O": np.where(summed(key), P, 0) @ V / total, "LSE": (m + np.log(total))[:, 0]}

    return Slip(says, gives)


exercise = Exercise(
    title="A tile that doesn't fit",
    reference=reference,
    rtol=2e-3,
    atol=4e-3,  # P and O are rounded to float16: 5e-4 of numbers up to 4, and of O
    cases=(
        Case("64 queries and keys", data(64, 64), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("65 queries, 33 keys", data(65, 33), launch),
        Case("63 queries, 31 keys", data(63, 31), launch),
        Case("63 queries, 95 keys, far apart", data(63, 95, 20.0), launch),
        Case("another shape", data(17, 129, 10.0), launch, visible=False),
    ),
    budget=Budget("64 queries and keys", "two tiles of keys, two barriers each: all 16,384 bytes are used", barriers=4),
    budget_share=1.0,
    slips=(
        over("Every other tile of keys is missing: the next tile begins Bc keys further on.", scored=lambda key: key % 64 < Bc),
        over("P V has taken 16 keys of each tile: the products with V take Bc / 16 slices.", summed=lambda key: key % Bc < 16),
        over("Keys that aren't there have counted, with the score 0: the mask belongs to the last tile, that of Bc keys.", more=Bc),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s, 10.0), launch) for s in lengths(rng, Br, Bc)],
    hints=(
        "Q takes 2 * 64 * 64 bytes of the 16,384. K and V share the rest: how many rows each? And who else counts on 64 keys?",
        "Bc = 32. The next tile begins Bc keys further on, and the products with V take Bc / 16 slices.",
    ),
)
