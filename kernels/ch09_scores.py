import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(heads, Nq, Nk):
    """Q: (heads, Nq, 64), K: (heads, Nk, 64), S: (heads, Nq, Nk), float32."""
    return lambda rng: {
        "Q": rng.standard_normal((heads, Nq, 64), dtype=np.float32),
        "K": rng.standard_normal((heads, Nk, 64), dtype=np.float32),
        "S": np.empty((heads, Nq, Nk), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(0.125),
    }


def launch(data):
    heads, Nq, Nk = data["S"].shape
    return Launch((ceil_div(Nk, 32), ceil_div(Nq, 8), heads), (32, 8), "Q K S Nq Nk scale")


example = Example(
    title="Scores: scale * Q K^T",
    reference=lambda data: {"S": 0.125 * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).swapaxes(1, 2)},
    atol=1e-5,  # 64 products; the scaled sum is of size 1
    cases=(
        Case("one query, one key", data(1, 1, 1), launch),
        Case("full blocks, 2 heads", data(2, 16, 64), launch),
        Case("ragged, Nq != Nk", data(2, 9, 33), launch),
    ),
)
