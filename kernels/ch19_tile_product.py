import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(K):
    """A: (16, K), B: (K, 8), fp16; C: (16, 8), float32; K is a multiple of 16."""
    return lambda rng: {
        "A": rng.standard_normal((16, K)).astype(np.float16),
        "B": rng.standard_normal((K, 8)).astype(np.float16),
        "C": np.empty((16, 8), np.float32),
        "K": np.int32(K),
    }


launch = Launch(1, 32, "A B C K")

example = Example(
    title="A tile of 16 x 8 on a tensor core",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"]},
    atol=5e-5,  # exact products, up to 64 of size 1: a tensor core may cut a sum of 20 off at 2**-19
    cases=(
        Case("one step", data(16), launch),
        Case("four steps", data(64), launch),
    ),
    budget=Budget("four steps", "4 instructions of 2 * 16 * 8 * 16 flops, and 8 loads before each", flops=2 * 16 * 8 * 64, global_load_requests=4 * 8),
)
