import numpy as np

from lanewise.exercise import AtLeast, Budget, Case, Exercise, Launch, ceil_div, lengths


def data(n):
    """x: n float32 in 0.5 .. 1.5, y: n float32."""
    return lambda rng: {"x": rng.uniform(0.5, 1.5, n).astype(np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["y"].size, 256), 256, "x y n")


def reference(data):
    x = data["x"].astype(np.float64)
    return {"y": np.where(np.arange(x.size) % 2 == 0, np.sqrt(x), 1.0 / x)}


exercise = Exercise(
    title="The same branch, without a warp that disagrees",
    reference=reference,
    cases=(
        Case("n = 1024, 4 full blocks", data(1024), launch),
        Case("one element", data(1), launch),
        Case("one short of a block", data(255), launch),
        Case("one more than a block", data(257), launch),
        Case("n = 1000", data(1000), launch),
        Case("another length", data(770), launch, visible=False),
    ),
    budget=Budget(
        "n = 1024, 4 full blocks",
        "in full blocks all 32 lanes of a warp can follow one recipe, so nearly every instruction can have all its lanes",
        active_lane_ratio=AtLeast(0.95),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "A block of 256 elements has 128 even and 128 odd ones, and 8 warps. Threads 0-127 are warps 0-3: which elements should they take?",
        "Let `odd` be t >= 128; then both halves count t % 128 = 0 .. 127, and the element is first + 2 * (t % 128), plus 1 in the odd half.",
    ),
)
