import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K: (Nk, 64), fp16, LSE: (Nq), float32. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "LSE": np.empty(Nq, np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(0.125),
    }


def launch(data):
    maps = (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (64, 64), "128B"))
    return Launch(ceil_div(len(data["Q"]), 128), 384, (*maps, "LSE", "Nq", "Nk", "scale"))


def reference(data):
    """Log-sum-exp in float64."""
    S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T * 0.125
    return log_sum_exp(S)


def log_sum_exp(S):
    top = S.max(axis=1)
    return {"LSE": top + np.log(np.exp(S - top[:, None]).sum(axis=1))}


def across(data):
    """The result if tile n's box begins at column 64 n of row 0: from the second tile on there is nothing but the zeros outside the map."""
    S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T * 0.125
    S[:, 64:] = 0
    return log_sum_exp(S)


exercise = Exercise(
    title="One thread that does nothing but load",
    reference=reference,
    rtol=1e-6,
    atol=2e-5,  # scores of size 1 to 10 in float32
    cases=(
        Case("two tiles", data(128, 128), launch),
        Case("one of each", data(1, 1), launch),
        Case("eight tiles, ragged", data(70, 480), launch),
        Case("two blocks, five tiles", data(129, 320), launch, visible=False),
    ),
    budget=Budget("eight tiles, ragged", "Q in two boxes, each tile of K in one", tma_requests=2 + 8, barriers=1),
    slips=(
        Slip("From the second tile on K was 0: coordinates count columns first, so tile n begins at 0, 64 * n. Outside the map TMA fills zeros in.", across),
    ),
    variation=lambda rng: [
        Case(f"{nq} queries, {nk} keys", data(nq, nk, hard_rows(rng)), launch, rtol=2e-6, atol=1e-3)  # scores up to 1000
        for nq, nk in [*lengths(rng, 64, 64), (30, 192 + int(rng.integers(1, 250)))]
    ],
    hints=(
        "For each tile: its stage is n % stages; from the second round on the stage must be empty first; then `full` gets an arrival with "
        "the bytes, and the copy.",
        "Round n / stages of a stage waits for the phase before it: parity `round - 1 & 1` of `empty + 8 * s`. Then "
        "`mbarrier_arrive_expect_tx(full + 8 * s, tile)` "
        "and `tma_load_2d(ptx::shared_address(Ks[s]), &Km, full + 8 * s, 0, 64 * n)`.",
    ),
)
