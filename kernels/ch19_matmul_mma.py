import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def bfloat16(x):
    """The bits of float32 numbers rounded to bf16 (to nearest, ties to even): uint16 of the same shape. No NaN."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits):
    """bf16 bits as float64."""
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def data(M, N, K):
    """A: (M, K), B: (K, N), bf16 as uint16; C: (M, N), float32. N and K are multiples of 8."""
    return lambda rng: {
        "A": bfloat16(rng.standard_normal((M, K))),
        "B": bfloat16(rng.standard_normal((K, N))),
        "C": np.empty((M, N), np.float32),
        "M": np.int32(M),
        "N": np.int32(N),
        "K": np.int32(K),
    }


def launch(data):
    M, N = data["C"].shape
    return Launch((ceil_div(N, 128), ceil_div(M, 128)), 256, "A B C M N K")


example = Example(
    title="C = A B on tensor cores, from plain shared memory",
    reference=lambda data: {"C": wide(data["A"]) @ wide(data["B"])},
    atol=1e-4,  # the products are exact; 72 of them of size 1 are added, each sum of 20 or so loses up to 1 in 2^23 where a tensor core cuts off
    cases=(
        Case("one block, two steps", data(128, 128, 64), launch),
        Case("one row", data(1, 8, 8), launch),
        Case("ragged in all three", data(129, 136, 72), launch),
        Case("below a tile", data(127, 120, 24), launch),
    ),
    budget=Budget(
        "one block, two steps",
        "64 products of 16 x 8 x 16 a warp, without a bank conflict: 4 words of A for 4 rows, 4 halves of B for 4 columns, 2 times a step; C is written once",
        flops=2 * 128 * 128 * 64,
        shared_load_wavefronts=8 * 4 * (16 + 16),
        global_store_sectors=128 * 128 // 8,
    ),
)
