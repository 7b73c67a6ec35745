import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(heads, Nq, Nk, scale=1.0):
    """W: (heads, Nq, Nk), X: (heads, Nq, 64), G: (heads, Nk, 64), float32."""
    return lambda rng: {
        "W": rng.random((heads, Nq, Nk), dtype=np.float32) / np.float32(Nk),
        "X": rng.standard_normal((heads, Nq, 64), dtype=np.float32),
        "G": np.empty((heads, Nk, 64), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(scale),
    }


def launch(data):
    heads, Nk, _ = data["G"].shape
    return Launch((ceil_div(Nk, 4), heads), (64, 4), "W X G Nq Nk scale")


def reference(data):
    W, X = data["W"].astype(np.float64), data["X"].astype(np.float64)
    return {"G": float(data["scale"]) * W.swapaxes(1, 2) @ X}


example = Example(
    title="What a key collects from all queries",
    reference=reference,
    cases=(
        Case("full blocks, 2 heads", data(2, 16, 8), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("ragged, with a scale", data(2, 9, 13, 0.125), launch),
    ),
)
