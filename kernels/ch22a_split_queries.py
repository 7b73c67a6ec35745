import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip

d = 64


def data(Nk, shape=lambda K: K):
    """Q: (64, 64), K, V: (Nk, 64), float16; O: (64, 64), float32. `shape` edits K."""

    def make(rng):
        Q, K, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (64, Nk, Nk))
        return {
            "Q": Q.astype(np.float16),
            "K": shape(K).astype(np.float16),
            "V": V.astype(np.float16),
            "O": np.empty((64, d), np.float32),
            "Nk": np.int32(Nk),
            "scale": np.float32(d**-0.5),
        }

    return make


launch = Launch(1, 128, "Q K V O Nk scale")


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    return {"O": float(data["scale"]) * (Q @ K.T) @ V}


def over(says, keys):
    """A Slip: the result over keys(row, key, Nk) alone."""

    def gives(data):
        Q, K, V = (data[name].astype(np.float64) for name in "QKV")
        S = float(data["scale"]) * Q @ K.T
        return {"O": np.where(keys(*np.indices(S.shape), len(K)), S, 0) @ V}

    return Slip(says, gives)


exercise = Exercise(
    title="Warps that share no output",
    reference=reference,
    rtol=2e-3,
    atol=3e-2,  # scores are rounded to float16: 5e-4 of each of up to 200 products of size 1 to 10
    cases=(
        Case("64 keys", data(64), launch),
        Case("one key", data(1), launch),
        Case("130 keys", data(130), launch),
        Case("63 keys, all scores of one sign in a row", data(63, lambda K: 0 * K + K[:1]), launch),
        Case("another length", data(97), launch, visible=False),
    ),
    budget=Budget(
        "130 keys",
        "a row of O has one warp, so nothing is added through shared memory; a warp's ldmatrix reads its rows of Q, and all of K and V",
        atomics=0,
        shared_load_wavefronts=3 * 4 * (16 + 64 + 64),
        shared_store_wavefronts=0,
        global_load_sectors=(64 + 2 * 130) * d * 2 // 32,
    ),
    budget_share=1.0,
    slips=(
        over(
            "That is the sum over a quarter of each tile's keys: a warp that owns its queries needs all keys.", lambda row, key, Nk: key % 64 // 16 == row // 16
        ),
        over("That is the last tile alone: o is set to 0 once, before the loop over the tiles.", lambda row, key, Nk: key >= (Nk - 1) // 64 * 64),
    ),
    variation=lambda rng: [Case(f"{n} keys", data(n), launch) for n in (1, int(rng.integers(62, 67)), int(rng.integers(120, 190)))],
    hints=(
        "Four warps, 64 queries: if a warp owns 16 of them, which keys does it need, and whose are the sums in its accumulators?",
        "rows = 16, keys = Bc, row = 16 * warp, key = 0. Declare `float o[1][d / 8][4] = {}` before the loop, let part be o[i], drop Os and its atomics, and "
        "store o[0][c][e] at row + lane / 4 + e / 2 * 8, column 8 * c + lane % 4 * 2 + e % 2.",
    ),
)
