import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(K):
    """A: (16, K), B: (K, 8), fp16; C: (16, 8), float32; K is a multiple of 8."""
    return lambda rng: {
        "A": rng.standard_normal((16, K)).astype(np.float16),
        "B": rng.standard_normal((K, 8)).astype(np.float16),
        "C": np.empty((16, 8), np.float32),
        "K": np.int32(K),
    }


launch = Launch(1, 32, "A B C K")

example = Example(
    title="A tile of 16 x 8 in half steps",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"]},
    atol=5e-5,  # exact products, up to 24 of size 1: a tensor core may cut a sum of 20 off at 2**-19
    cases=(
        Case("one step", data(8), launch),
        Case("three steps", data(24), launch),
    ),
    budget=Budget("three steps", "3 instructions of 2 * 16 * 8 * 8 flops, and 4 loads before each", flops=2 * 16 * 8 * 24, global_load_requests=3 * 4),
    arch="sm_75",
)
