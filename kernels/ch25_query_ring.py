import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div


def data(Nk):
    """K: (Nk, 64), fp16, q: (64), S: (Nk), float32."""
    return lambda rng: {
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "q": rng.standard_normal(64, dtype=np.float32),
        "S": np.empty(Nk, np.float32),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(min(2, ceil_div(len(data["K"]), 64)), 64, (TensorMap("K", (64, 64), "128B"), "q", "S", "Nk"))


example = Example(
    title="One query's scores, a ring of three stages",
    reference=lambda data: {"S": data["K"].astype(np.float64) @ data["q"].astype(np.float64)},
    atol=2e-5,  # 64 products of size 1, each sum rounded
    cases=(
        Case("8 tiles for two blocks", data(512), launch),
        Case("one key", data(1), launch),
        Case("one tile less a key", data(63), launch),
        Case("ragged, an odd number of tiles", data(410), launch),
        Case("one block, more tiles than stages", data(257), Launch(1, 64, (TensorMap("K", (64, 64), "128B"), "q", "S", "Nk"))),
        Case("more blocks than tiles", data(70), Launch(3, 64, (TensorMap("K", (64, 64), "128B"), "q", "S", "Nk"))),
    ),
    budget=Budget(
        "8 tiles for two blocks",
        "8 boxes; a row's chunks are swizzled: half a warp reads 16 chunks in 2 passes, and q comes to all lanes at once",
        tma_requests=8,
        tma_load_bytes=512 * 128,
        global_load_requests=4,
    ),
)
