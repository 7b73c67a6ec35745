import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(heads, N):
    """w: (heads, N), weights with sum 1, V: (heads, N, 64), out: (heads, 64), float32; no events."""

    def make(rng):
        P = np.exp(rng.standard_normal((heads, N)))
        return {
            "w": (P / P.sum(axis=1, keepdims=True)).astype(np.float32),
            "V": rng.standard_normal((heads, N, 64), dtype=np.float32),
            "out": np.empty((heads, 64), np.float32),
            "N": np.int32(N),
            "events": np.uintp(0),
        }

    return make


def launch(data):
    return Launch(len(data["w"]), 64, "w V out N events")


example = Example(
    title="Weighted rows, the next tile on its way",
    reference=lambda data: {"out": np.einsum("hn,hnd->hd", data["w"].astype(np.float64), data["V"].astype(np.float64))},
    atol=2e-6,  # weights with sum 1 times numbers up to 4 or 5
    cases=(
        Case("two heads, three tiles", data(2, 48), launch),
        Case("one row", data(1, 1), launch),
        Case("ragged", data(2, 33), launch),
    ),
    budget=Budget("two heads, three tiles", "one barrier for each of six tiles", barriers=6),
)
