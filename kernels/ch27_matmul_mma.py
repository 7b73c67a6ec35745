import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div

BM, BN, BK, stages = 128, 256, 64, 3
shared_bytes = stages * (BM + BN) * BK * 2 + BM * BN * 2


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
    """Two blocks at most, so that a block takes more than one tile where there are three."""
    M, N = data["C"].shape
    maps = (TensorMap("A", (BM, 64), "128B"), TensorMap("B", (BK, 64), "128B"), TensorMap("C", (64, 64), "128B"))
    return Launch(min(2, ceil_div(M, BM) * ceil_div(N, BN)), 384, (*maps, "M", "N", "K"), shared_bytes)


example = Example(
    title="C = A B by mma.sync: one warp loads, eight multiply",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    rtol=2.0**-11,  # C is rounded to fp16
    atol=1e-4,  # sums of size 20 or so, of products that are exact
    cases=(
        Case("one tile of C, two of K", data(BM, BN, 2 * BK), launch),
        Case("one row, one chunk", data(1, 8, 8), launch),
        Case("two blocks, four tiles", data(130, 264, 72), launch),
        Case("more tiles of K than stages", data(5, 40, 5 * BK + 8), launch),
    ),
    budget=Budget(
        "one tile of C, two of K",
        "eight warps read 8 matrices of 4 passes for each 16 of K; five boxes a tile of K, 8 of C",
        flops=2 * BM * BN * 2 * BK,
        shared_load_wavefronts=8 * (2 * BK // 16) * 8 * 4,
        tma_requests=2 * 5 + 8,
        tma_load_bytes=2 * (BM + BN) * BK * 2,
        global_load_requests=0,
        global_store_requests=0,
    ),
)
