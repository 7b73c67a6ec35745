import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, TensorMap, ceil_div, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K: (Nk, 64), V: (Nk, 128), fp16, O: (Nq, 128), float32. Scores are of size 1. `shape` makes other rows of V."""
    return lambda rng: {
        "Q": (rng.standard_normal((Nq, 64), dtype=np.float32) / 8).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "V": shape(rng.standard_normal((Nk, 128), dtype=np.float32)).astype(np.float16),
        "O": np.empty((Nq, 128), np.float32),
        "Nq": np.int32(Nq),
    }


def launch(data):
    maps = (TensorMap(name, (64, 64), "128B") for name in "QKV")
    return Launch(ceil_div(len(data["Q"]), 64), 128, (*maps, "O", "Nq"))


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    return {"O": np.exp2(Q @ K.T) @ V}


exercise = Exercise(
    title="Weights that stay in registers",
    reference=reference,
    rtol=2.0**-11,  # each weight is rounded to 11 bits ..
    atol=2e-2,  # .. and values of both signs cancel: 64 errors of about 1e-3, of either sign
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged", data(65, 63), launch),
        Case("few keys", data(20, 9), launch),
        Case("other numbers", data(63, 40), launch, visible=False),
    ),
    budget=Budget(
        "64 queries, 64 keys",
        "four instructions for each product; the weights never see shared memory",
        wgmma_instructions=8,
        shared_store_requests=0,
        shared_load_requests=0,
    ),
    variation=lambda rng: [
        Case(f"{n} queries, {min(m, 64)} keys", data(n, min(m, 64), lambda V: np.sort(V, axis=-1)), launch) for n, m in lengths(rng, 64, 64)
    ],
    hints=(
        "D's registers 8 j .. 8 j + 7 are columns 16 j .. 16 j + 15, in pairs: row lane / 4, row lane / 4 + 8, then both 8 columns on. That is the order of "
        "A's registers. V has keys for rows: a step of 16 keys is 16 rows of 128 bytes, and its two panels lie `panel` bytes apart.",
        "`p[step][i] = pack2(s[8 * step + 2 * i], s[8 * step + 2 * i + 1], __half())` and `wgmma_tile(v + step * 16 * 128, panel, 8 * 128)`.",
    ),
)
