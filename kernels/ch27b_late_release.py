import numpy as np

from lanewise.exercise import AtLeast, Budget, Case, Exercise, Launch, TensorMap, ceil_div, hard_rows, lengths


def data(M, N, K, shape=lambda x: x):
    """A: (M, K), B: (N, K), fp16, C: (M, N), float32. K is a multiple of 8. `shape` makes other rows of A."""
    return lambda rng: {
        "A": shape(rng.standard_normal((M, K), dtype=np.float32)).astype(np.float16),
        "B": rng.standard_normal((N, K), dtype=np.float32).astype(np.float16),
        "C": np.empty((M, N), np.float32),
        "M": np.int32(M),
        "N": np.int32(N),
        "K": np.int32(K),
    }


def launch(data):
    M, N = data["C"].shape
    maps = (TensorMap("A", (64, 64), "128B"), TensorMap("B", (64, 64), "128B"))
    return Launch((ceil_div(N, 64), ceil_div(M, 128)), 384, (*maps, "C", "M", "N", "K"), 73728)


def tolerance(A_largest, K):
    """Products of fp16 are exact in float32; a tensor core cuts off a sum of K of them at each step of 16."""
    return 2.0**-20 * A_largest * 4 * K**0.5 * (K / 16)


exercise = Exercise(
    title="A stage is free one step later",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64).T},
    atol=2e-3,
    cases=(
        Case("two steps", data(128, 64, 128), launch),
        Case("one of each, 8 in K", data(1, 1, 8), launch),
        Case("seven steps, ragged", data(70, 40, 7 * 64 - 24), launch),
        Case("four blocks", data(130, 66, 256), launch, visible=False),
    ),
    budget=Budget(
        "seven steps, ragged",
        "two warpgroups, each four instructions a step; the block meets once; from the second step on all that isn't wgmma runs under a product",
        wgmma_instructions=2 * 4 * 7,
        barriers=1,
        wgmma_overlapped=AtLeast(8 * 7 * 25),  # 8 warps, 7 steps: about 50 instructions each, 10 where every product is waited for
    ),
    variation=lambda rng: [
        Case(f"{m} x {n} x {8 * k}", data(m, n, 8 * k, hard_rows(rng)), launch, atol=tolerance(300, 8 * k))
        for m, n, k in [*lengths(rng, 64, 64, 8), (65, 9, 24 + int(rng.integers(2, 20)))]
    ],
    hints=(
        "`wgmma_wait<1>` lets the newest group go on. Which stage does that group read, and which one is certainly no longer read?",
        "Behind `wgmma_wait<1>`, and from t = 1 on, thread 0 of each warpgroup arrives at `empty + 8 * ((t - 1) % stages)`. So a stage gets two arrivals.",
    ),
)
