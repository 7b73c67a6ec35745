import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div

BM, BN, BK, stages = 128, 256, 64, 4
shared_bytes = stages * (BM + BN) * BK * 2


def data(M, N, K):
    """A: (M, K), B: (K, N), C: (M, N), fp16. N and K are multiples of 8."""
    return lambda rng: {
        "A": rng.standard_normal((M, K), dtype=np.float32).astype(np.float16),
        "B": rng.standard_normal((K, N), dtype=np.float32).astype(np.float16),
        "C": np.empty((M, N), np.float16),
        "M": np.int32(M),
        "N": np.int32(N),
        "K": np.int32(K),
    }


def launch(data):
    M, N = data["C"].shape
    maps = (TensorMap("A", (BM, 64), "128B"), TensorMap("B", (BK, 64), "128B"), TensorMap("C", (64, 64), "128B"))
    return Launch(ceil_div(M, BM) * ceil_div(N, BN), 256, (*maps, "M", "N", "K"), shared_bytes)


example = Example(
    title="C = A B by wgmma, tiles brought by the copy engine",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    rtol=2.0**-11,  # C is rounded to fp16
    atol=2e-4,  # sums of size 30 or so, of products that are exact, cut off at each step
    cases=(
        Case("one tile of C, two of K", data(BM, BN, 2 * BK), launch),
        Case("one row, one chunk", data(1, 8, 8), launch),
        Case("ragged in all three", data(130, 264, 72), launch),
        Case("more tiles of K than stages", data(5, 40, 5 * BK + 8), launch),
    ),
    budget=Budget(
        "one tile of C, two of K",
        "two warpgroups, 8 steps of 16; five boxes a tile of K, 8 of C",
        wgmma_instructions=16,
        flops=2 * BM * BN * 2 * BK,
        tma_requests=2 * 5 + 8,
        tma_load_bytes=2 * (BM + BN) * BK * 2,
        global_load_requests=0,
        global_store_requests=0,
    ),
)
