import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div

d = 64


def data(heads, Nq, masked=0):
    """O, dO: (heads, Nq, 64), float16; LSE: (heads, Nq), -infinity in the first `masked` rows; rows: (heads, Nq, 2), float32."""

    def make(rng):
        O, dO = rng.standard_normal((2, heads, Nq, d)).astype(np.float16)  # noqa: E741
        LSE = rng.standard_normal((heads, Nq), dtype=np.float32) + 4
        LSE[:, :masked], O[:, :masked] = -np.inf, 0
        return {"O": O, "dO": dO, "LSE": LSE, "rows": np.empty((heads, Nq, 2), np.float32), "Nq": np.int32(Nq)}

    return make


def launch(data):
    heads, Nq, _ = data["O"].shape
    return Launch((ceil_div(Nq, 8), heads), 256, "O dO LSE rows Nq")


def reference(data):
    """LSE log2 e, or infinity where a query sees no key, and delta, in float64."""
    sees = data["LSE"] > -np.inf
    delta = (data["O"].astype(np.float64) * data["dO"]).sum(axis=-1)
    return {"rows": np.stack([np.where(sees, data["LSE"] * np.log2(np.e), np.inf), np.where(sees, delta, 0)], axis=-1)}


example = Example(
    title="LSE for powers of 2, and delta, for each query",
    reference=reference,
    rtol=1e-5,
    atol=1e-5,
    cases=(
        Case("8 queries", data(1, 8), launch),
        Case("one query", data(1, 1), launch),
        Case("2 heads, ragged, 5 queries without a key", data(2, 13, masked=5), launch),
    ),
)
