import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(rows, keys, spread=1.0, masked=0):
    """P, dP, dS: (rows, keys) float32; each row of P sums to 1, but the first `masked` ones are 0."""

    def make(rng):
        S = spread * rng.standard_normal((rows, keys))
        P = np.exp(S - S.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        P[:masked] = 0
        return {
            "P": P.astype(np.float32),
            "dP": rng.standard_normal((rows, keys), dtype=np.float32),
            "dS": np.empty((rows, keys), np.float32),
            "rows": np.int32(rows),
            "keys": np.int32(keys),
        }

    return make


def launch(data):
    return Launch(ceil_div(int(data["rows"]), 4), 128, "P dP dS rows keys")


def reference(data):
    P, dP = data["P"].astype(np.float64), data["dP"].astype(np.float64)
    return {"dS": P * (dP - (P * dP).sum(axis=1, keepdims=True))}


example = Example(
    title="Gradient of a softmax, with one sum a row",
    reference=reference,
    cases=(
        Case("8 rows of 64", data(8, 64), launch),
        Case("one score", data(1, 1), launch),
        Case("more keys than lanes", data(5, 45), launch),
        Case("scores far apart", data(3, 40, 30.0), launch),
        Case("2 masked rows", data(4, 33, masked=2), launch),
    ),
    budget=Budget(
        "8 rows of 64",
        "each element costs a multiply-add in the sum, a subtraction and a product, and each row 5 additions in 32 lanes",
        flops=8 * 64 * 4 + 8 * 5 * 32,
    ),
)
