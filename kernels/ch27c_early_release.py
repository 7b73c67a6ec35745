import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K, V: (Nk, 64), fp16; LSE: (Nq), O: (Nq, 64), float32. `shape` makes other rows of Q."""

    def make(rng):
        Q = shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16)
        K, V = rng.standard_normal((2, Nk, 64), dtype=np.float32).astype(np.float16)
        S = Q.astype(np.float64) @ K.astype(np.float64).T * 0.125
        top = S.max(axis=1)
        LSE = (top + np.log(np.exp(S - top[:, None]).sum(axis=1))).astype(np.float32)
        return {"Q": Q, "K": K, "V": V, "LSE": LSE, "O": np.empty((Nq, 64), np.float32), "Nq": np.int32(Nq), "Nk": np.int32(Nk), "scale": np.float32(0.125)}

    return make


def launch(data):
    maps = tuple(TensorMap(name, (64, 64), "128B") for name in ("Q", "K", "V"))
    return Launch(ceil_div(len(data["Q"]), 128), 384, (*maps, "LSE", "O", "Nq", "Nk", "scale"), 65536)


def reference(data):
    """Attention in float64, from the same LSE."""
    S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T * 0.125
    return {"O": np.exp(S - data["LSE"].astype(np.float64)[:, None]) @ data["V"].astype(np.float64)}


exercise = Exercise(
    title="Repair: free too early",
    reference=reference,
    rtol=1e-3,
    atol=2e-3,  # P is rounded to fp16: 2^-11 of each of its terms
    cases=(
        Case("three tiles", data(128, 192), launch),
        Case("one of each", data(1, 1), launch),
        Case("eight tiles, ragged", data(70, 480), launch),
        Case("two blocks, five tiles", data(129, 320), launch, visible=False),
    ),
    budget=Budget("eight tiles, ragged", "Q in two boxes, K and V in one a tile; the block meets once", tma_requests=2 + 2 * 8, barriers=1),
    variation=lambda rng: [
        Case(f"{nq} queries, {nk} keys", data(nq, nk, hard_rows(rng)), launch, atol=6e-3)  # scores up to 1000: LSE as float32 is off by 2^-15
        for nq, nk in [*lengths(rng, 64, 64), (30, 192 + int(rng.integers(1, 250)))]
    ],
    hints=(
        "What lies in a stage, and who still reads it when S is complete?",
        "A stage holds K and V. Move the arrival at `empty + 8 * s` behind the wait of the second product.",
    ),
)
