import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(rng):
    """Q: (16, 64), K: (64, 64), fp16, S: (16, 64), float32."""
    return {
        "Q": rng.standard_normal((16, 64), dtype=np.float32).astype(np.float16),
        "K": rng.standard_normal((64, 64), dtype=np.float32).astype(np.float16),
        "S": np.empty((16, 64), np.float32),
    }


example = Example(
    title="Scores on tensor cores, fragments by ldmatrix from a swizzled tile",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    atol=5e-5,  # 64 exact products of size 1: a sum of 20 or so, rounded or cut off at each of 4 steps
    cases=(Case("16 queries, 64 keys", data, Launch(1, 32, "Q K S")),),
    budget=Budget(
        "16 queries, 64 keys", "5 ldmatrix a step, 4 steps, 4 passes each; a pass stores 8 chunks", shared_load_wavefronts=80, shared_store_wavefronts=80
    ),
)
