import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, TensorMap, hard_rows, lengths


def data(Nk, shape=lambda x: x):
    """V: (Nk, 64), fp16, p: (Nk), float32, O: (64), float32. `shape` makes other rows of V."""
    return lambda rng: {
        "V": shape(rng.standard_normal((Nk, 64), dtype=np.float32)).astype(np.float16),
        "p": rng.uniform(0, 1, Nk).astype(np.float32),
        "O": np.empty(64, np.float32),
        "Nk": np.int32(Nk),
    }


launch = Launch(1, 64, (TensorMap("V", (32, 64)), "p", "O", "Nk"))

exercise = Exercise(
    title="Full and empty: a ring of three stages",
    reference=lambda data: {"O": data["p"].astype(np.float64) @ data["V"].astype(np.float64)},
    atol=1e-4,  # 300 products of size 1, each sum rounded
    cases=(
        Case("two tiles", data(64), launch),
        Case("one row", data(1), launch),
        Case("seven tiles, ragged", data(200), launch),
        Case("ten tiles", data(320), launch, visible=False),
    ),
    budget=Budget(
        "seven tiles, ragged", "each tile is asked for once, and after the first __syncthreads() nobody waits for the whole block", tma_requests=7, barriers=1
    ),
    variation=lambda rng: [
        Case(f"{n} rows", data(n, hard_rows(rng)), launch, atol=2e-2)  # elements up to 300, their products cancel
        for n in [n for (n,) in lengths(rng, 32)] + [96 + int(rng.integers(2, 120))]
    ],
    hints=(
        "`full` ends a phase when thread 0 has arrived and the bytes are here; `empty` when all 64 threads have read. A stage's phases are numbered by its "
        "rounds, n / stages, and both barriers are waited for by that number's parity.",
        "`load`: from round 1 on wait for `empty + 8 * s` with parity `round - 1 & 1`, then expect `bytes` and load. The readers wait for `full + 8 * s` with "
        "parity `n / stages & 1` and arrive at `empty + 8 * s`. Counts: 1 and 64.",
    ),
)
