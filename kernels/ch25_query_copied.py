import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(Nk):
    """K: (Nk, 64), fp16, q: (64), S: (Nk), float32."""
    return lambda rng: {
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "q": rng.standard_normal(64, dtype=np.float32),
        "S": np.empty(Nk, np.float32),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(ceil_div(len(data["K"]), 64), 64, "K q S Nk")


example = Example(
    title="One query's scores, tiles brought by the threads",
    reference=lambda data: {"S": data["K"].astype(np.float64) @ data["q"].astype(np.float64)},
    atol=2e-5,  # 64 products of size 1, each sum rounded
    cases=(
        Case("64 keys", data(64), launch),
        Case("one key", data(1), launch),
        Case("63 keys", data(63), launch),
        Case("150 keys", data(150), launch),
    ),
    budget=Budget(
        "64 keys", "8 chunks of each key, asked for by half a block at a time, and q", global_load_requests=16 + 2, global_bytes=64 * 128 + 256 + 256
    ),
)
