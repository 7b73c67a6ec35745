import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

BM, BN, BK, stages = 128, 256, 64, 3
shared_bytes = stages * (BM + BN) * BK * 2


def data(M, N, K):
    """A: (M, K), B: (K, N), C: (M, N), float16. N and K are multiples of 8."""
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
    return Launch(ceil_div(M, BM) * ceil_div(N, BN), 256, "A B C M N K", shared_bytes)


steps = 2 * BK // 16  # of 16 in K, for K = 128
example = Example(
    title="C = A B on tensor cores, three stages, tiles copied in the background",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    rtol=2.0**-11,  # C is rounded to fp16
    atol=1e-4,  # sums of size 20 or so, of products that are exact
    cases=(
        Case("one tile of C, two of K", data(BM, BN, 2 * BK), launch),
        Case("one row, one chunk", data(1, 8, 8), launch),
        Case("ragged in all three", data(130, 264, 72), launch),
        Case("more tiles of K than stages", data(5, 40, 5 * BK + 8), launch),
    ),
    budget=Budget(
        "one tile of C, two of K",
        "no bank conflict: 8 warps read 8 matrices of 4 passes a step, then 64 rows of 128 bytes of C each",
        flops=2 * BM * BN * 2 * BK,
        shared_load_wavefronts=8 * (steps * 8 * 4 + 64),
        global_load_sectors=2 * BK * (BM + BN) * 2 // 32,
        global_store_sectors=BM * BN * 2 // 32,
    ),
)
