import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div


def data(Nq, Nk):
    """Q: (Nq, 64), K: (Nk, 64), fp16, S: (Nq, Nk), float32."""
    return lambda rng: {
        "Q": rng.standard_normal((Nq, 64), dtype=np.float32).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "S": np.empty((Nq, Nk), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    Nq, Nk = data["S"].shape
    return Launch((ceil_div(Nk, 64), ceil_div(Nq, 64)), 128, (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (64, 64), "128B"), "S", "Nq", "Nk"))


example = Example(
    title="A tile of scores by wgmma",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    atol=1e-4,  # 64 exact products of size 1: a sum of 20 or so, cut off at each of 4 steps
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged", data(63, 65), launch),
        Case("more tiles", data(70, 130), launch),
    ),
    budget=Budget("64 queries, 64 keys", "four instructions", wgmma_instructions=4, flops=2 * 64**3, shared_load_requests=0),
)
