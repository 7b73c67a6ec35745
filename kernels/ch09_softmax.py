import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(heads, Nq, Nk, spread=1.0):
    """S: (heads, Nq, Nk) float32, replaced by its softmax."""
    return lambda rng: {
        "S": spread * rng.standard_normal((heads, Nq, Nk), dtype=np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    heads, Nq, _ = data["S"].shape
    return Launch((ceil_div(Nq, 4), heads), 128, "S Nq Nk")


def reference(data):
    S = data["S"].astype(np.float64)
    e = np.exp(S - S.max(axis=-1, keepdims=True))
    return {"S": e / e.sum(axis=-1, keepdims=True)}


example = Example(
    title="Softmax of each row, in place",
    reference=reference,
    updates=("S",),
    rtol=3e-5,  # expf of a difference down to -100 or so, itself off by 6e-8 of its size
    cases=(
        Case("one score", data(1, 1, 1), launch),
        Case("a warp's width", data(1, 4, 32), launch),
        Case("ragged, 2 heads", data(2, 5, 45), launch),
        Case("scores far apart", data(1, 4, 100, 30.0), launch),
    ),
)
