import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths


def data(n):
    """x, out: n float32 each."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "out": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["out"].size, 128), 128, "x out n")


def reference(data):
    x = data["x"].astype(np.float64)
    return {"out": np.abs(x[:, None] - x[None, :]).sum(axis=1)}


exercise = Exercise(
    title="Repair a loop over tiles that overtakes itself",
    reference=reference,
    rtol=3e-5,  # up to 500 additions in float32, each off by at most 6e-8 of the sum so far
    cases=(
        Case("n = 256: two tiles", data(256), launch),
        Case("one element", data(1), launch),
        Case("one short of a tile", data(127), launch),
        Case("one more than a tile", data(129), launch),
        Case("n = 300", data(300), launch),
        Case("another length", data(500), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "A fast warp may be in the next round while a slow one still reads this round's tile. What does the fast one do first in its next round?",
        "Nobody may refill tile[] before everybody has read it: a second `__syncthreads()` at the end of the loop's body.",
    ),
)
