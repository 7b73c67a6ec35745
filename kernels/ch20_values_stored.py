import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(rng):
    """P: (16, 64), rows with sum 1, V: (64, 64), O: (16, 64), fp16."""
    P = np.exp(rng.standard_normal((16, 64)))
    return {
        "P": (P / P.sum(axis=1, keepdims=True)).astype(np.float16),
        "V": rng.standard_normal((64, 64), dtype=np.float32).astype(np.float16),
        "O": np.empty((16, 64), np.float16),
    }


example = Example(
    title="Values: ldmatrix.trans in, stmatrix out",
    reference=lambda data: {"O": data["P"].astype(np.float64) @ data["V"].astype(np.float64)},
    rtol=2.0**-11,  # O is rounded to fp16
    atol=1e-6,
    cases=(Case("16 queries, 64 keys", data, Launch(1, 32, "P V O")),),
    budget=Budget(
        "16 queries, 64 keys",
        "5 ldmatrix a step, 4 steps, 4 passes each, and O's 16 rows; a pass stores 8 chunks; O leaves in whole sectors",
        shared_load_wavefronts=80 + 16,
        shared_store_wavefronts=80 + 16,
        global_store_requests=4,
        global_store_sectors=64,
    ),
)
