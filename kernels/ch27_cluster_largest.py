import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div


def data(Nq, Nk):
    """Q: (Nq, 64), K: (Nk, 64), fp16, m: (Nq), float32."""
    return lambda rng: {
        "Q": rng.standard_normal((Nq, 64), dtype=np.float32).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "m": np.empty(Nq, np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(2 * ceil_div(len(data["Q"]), 128), 128, (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (32, 64), "128B"), "m", "Nq", "Nk"))


example = Example(
    title="Two blocks share the tiles of K",
    reference=lambda data: {"m": (data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T).max(axis=1)},
    atol=1e-4,  # sums of 64 exact products of size 1, cut off at each of 4 steps
    cases=(
        Case("128 queries, three tiles", data(128, 192), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged, four blocks", data(130, 333), launch),
    ),
    budget=Budget(
        "128 queries, three tiles", "each block brings its queries and half of each tile", tma_load_bytes=2 * 8192 + 3 * 8192, tma_requests=2 + 2 * 3
    ),
)
