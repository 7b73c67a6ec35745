import numpy as np

from lanewise.exercise import AtLeast, Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K, V: (Nk, 64), fp16; O: (Nq, 64), float32. `shape` makes other rows of Q."""

    def make(rng):
        Q = shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16)
        K, V = rng.standard_normal((2, Nk, 64), dtype=np.float32).astype(np.float16)
        return {"Q": Q, "K": K, "V": V, "O": np.empty((Nq, 64), np.float32), "Nq": np.int32(Nq), "Nk": np.int32(Nk), "scale": np.float32(0.125)}

    return make


def launch(data):
    maps = tuple(TensorMap(name, (64, 64), "128B") for name in ("Q", "K", "V"))
    return Launch(ceil_div(len(data["Q"]), 64), 128, (*maps, "O", "Nq", "Nk", "scale"), 40960)


def reference(data):
    """Attention in float64."""
    S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T * 0.125
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return {"O": P @ data["V"].astype(np.float64) / P.sum(axis=1, keepdims=True)}


def not_rescaled(data):
    """O if each tile's weights are measured against the maximum of that moment, and l alone is rescaled."""
    S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T * 0.125
    m = np.maximum.accumulate(S, axis=1)
    last = np.minimum(np.arange(S.shape[1]) // 64 * 64 + 63, S.shape[1] - 1)
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return {"O": np.exp(S - m[:, last]) @ data["V"].astype(np.float64) / P.sum(axis=1, keepdims=True)}


exercise = Exercise(
    title="A softmax under a product",
    reference=reference,
    rtol=1e-3,
    atol=2e-3,  # P is rounded to fp16: 2^-11 of each of its terms
    cases=(
        Case("three tiles", data(64, 192), launch),
        Case("one of each", data(1, 1), launch),
        Case("six tiles, ragged", data(70, 370), launch),
        Case("two tiles", data(65, 128), launch, visible=False),
    ),
    budget=Budget(
        "three tiles",
        "8 instructions a tile, the block meets once, and two softmaxes run under a product",
        wgmma_instructions=3 * 8,
        barriers=1,
        wgmma_overlapped=AtLeast(4 * 2 * 125),  # 4 warps, 2 tiles: about 260 instructions each, 40 where the products are waited for first
    ),
    slips=(Slip("l is right, and O isn't rescaled when a later tile has the larger score: scale_rows(o, shrink), once O is here.", not_rescaled),),
    variation=lambda rng: [
        Case(f"{nq} queries, {nk} keys", data(nq, nk, hard_rows(rng)), launch, atol=6e-3)  # scores up to 1000, in float32 off by 2^-15
        for nq, nk in [*lengths(rng, 64, 64), (30, 192 + int(rng.integers(1, 250)))]
    ],
    hints=(
        "A wait names groups, and groups end in the order in which they were committed. S has to be alone in the older one, P V in the newer one.",
        "`begin_scores(n)`, commit, `begin_values(n - 1)`, commit; `wgmma_wait<1>()` before the softmax, `wgmma_wait<0>()` before O is "
        "rescaled and `pack` overwrites P, which the product still reads.",
    ),
)
