import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(heads, Nq, Nk):
    """P: (heads, Nq, Nk), rows that sum to 1; V: (heads, Nk, 64), O: (heads, Nq, 64), float32."""

    def make(rng):
        P = rng.random((heads, Nq, Nk))
        return {
            "P": (P / P.sum(axis=-1, keepdims=True)).astype(np.float32),
            "V": rng.standard_normal((heads, Nk, 64), dtype=np.float32),
            "O": np.empty((heads, Nq, 64), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
        }

    return make


def launch(data):
    heads, Nq, _ = data["O"].shape
    return Launch((ceil_div(Nq, 4), heads), (64, 4), "P V O Nq Nk")


example = Example(
    title="Weighted values: P V",
    reference=lambda data: {"O": data["P"].astype(np.float64) @ data["V"].astype(np.float64)},
    cases=(
        Case("one query, one key", data(1, 1, 1), launch),
        Case("full blocks, 2 heads", data(2, 8, 64), launch),
        Case("ragged, Nq != Nk", data(2, 5, 33), launch),
    ),
)
