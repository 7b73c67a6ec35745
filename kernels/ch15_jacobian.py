import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(rows, keys, spread=1.0):
    """P, dP, dS: (rows, keys) float32; each row of P sums to 1."""

    def make(rng):
        S = spread * rng.standard_normal((rows, keys))
        P = np.exp(S - S.max(axis=1, keepdims=True))
        return {
            "P": (P / P.sum(axis=1, keepdims=True)).astype(np.float32),
            "dP": rng.standard_normal((rows, keys), dtype=np.float32),
            "dS": np.empty((rows, keys), np.float32),
            "keys": np.int32(keys),
        }

    return make


def launch(data):
    rows, keys = data["P"].shape
    return Launch((ceil_div(keys, 64), rows), 64, "P dP dS keys")


def reference(data):
    """Each row's Jacobian as a matrix, times the row of dP, in float64."""
    P, dP = data["P"].astype(np.float64), data["dP"].astype(np.float64)
    return {"dS": np.stack([(np.diag(p) - np.outer(p, p)) @ g for p, g in zip(P, dP, strict=True)])}


example = Example(
    title="Gradient of a softmax, with its Jacobian",
    reference=reference,
    cases=(
        Case("8 rows of 64", data(8, 64), launch),
        Case("one score", data(1, 1), launch),
        Case("one more than a block", data(2, 65), launch),
        Case("scores far apart", data(3, 40, 30.0), launch),
    ),
)
