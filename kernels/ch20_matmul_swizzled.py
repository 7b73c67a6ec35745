import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

BM, BN, BK = 128, 128, 64


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
    return Launch((ceil_div(N, BN), ceil_div(M, BM)), 256, "A B C M N K")


steps = 2 * BK // 16  # of 16 in K, for K = 128
example = Example(
    title="C = A B on tensor cores, fragments by ldmatrix from swizzled tiles",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"].astype(np.float64)},
    rtol=2.0**-11,  # C is rounded to fp16
    atol=1e-4,  # sums of size 20 or so, of products that are exact
    cases=(
        Case("one tile of C, two of K", data(BM, BN, 2 * BK), launch),
        Case("one row, one chunk", data(1, 8, 8), launch),
        Case("ragged in all three", data(130, 136, 72), launch),
        Case("below a tile", data(127, 120, 56), launch),
    ),
    budget=Budget(
        "one tile of C, two of K",
        "no bank conflict: 8 warps issue 6 ldmatrix of 4 passes a step; every 128 bytes of A, B and C cost one pass to store, and C one to read",
        flops=2 * BM * BN * 2 * BK,
        shared_load_wavefronts=8 * (steps * 6 * 4) + BM * BN * 2 // 128,
        shared_store_wavefronts=2 * BK * (BM + BN) * 2 // 128 + BM * BN * 2 // 128,
        global_load_sectors=2 * BK * (BM + BN) * 2 // 32,
        global_store_sectors=BM * BN * 2 // 32,
    ),
)
