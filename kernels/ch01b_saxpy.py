import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths


def data(n, alpha):
    """x, y: n float32 each; y is updated in place."""
    return lambda rng: {
        "alpha": np.float32(alpha),
        "x": rng.standard_normal(n, dtype=np.float32),
        "y": rng.standard_normal(n, dtype=np.float32),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(ceil_div(data["y"].size, 128), 128, "alpha x y n")


exercise = Exercise(
    title="Repair a saxpy that goes one too far",
    reference=lambda data: {"y": np.float64(data["alpha"]) * data["x"] + data["y"]},
    updates=("y",),
    cases=(
        Case("n = 1000", data(1000, 2.5), launch),
        Case("one element", data(1, -1.0), launch),
        Case("one short of a block", data(127, 0.5), launch),
        Case("a block, exactly", data(128, 0.5), launch),
        Case("one more than a block", data(129, 3.0), launch),
        Case("alpha = 0", data(300, 0.0), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n, float(rng.uniform(-3, 3))), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "Elements are numbered 0 .. n - 1. Which of the numbers that pass the guard is not among them?",
        "The last element is n - 1, so the guard has to be `i < n`.",
    ),
)
