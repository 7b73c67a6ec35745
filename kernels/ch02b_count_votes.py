import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(n, limit, low=-1.0, high=1.0):
    """x: n float32 between low and high; count: one int32 a warp, 8 warps a block."""
    return lambda rng: {
        "x": rng.uniform(low, high, n).astype(np.float32),
        "limit": np.float32(limit),
        "count": np.empty(ceil_div(n, 256) * 8, np.int32),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(data["count"].size // 8, 256, "x limit count n")


def reference(data):
    above = np.zeros(data["count"].size * 32, np.int64)
    above[: data["x"].size] = data["x"] > data["limit"]
    return {"count": above.reshape(-1, 32).sum(axis=1)}


exercise = Exercise(
    title="Count by ballot",
    reference=reference,
    cases=(
        Case("n = 1024, 4 full blocks", data(1024, 0.25), launch),
        Case("n = 900: a warp with 4 elements, three with none", data(900, 0.25), launch),
        Case("one element", data(1, -2.0), launch),
        Case("all 32 of a warp", data(256, 0.0, 1.0, 2.0), launch),
        Case("none", data(256, 0.0, -2.0, -1.0), launch),
        Case("one short of a warp", data(31, 0.0), launch),
        Case("another length", data(520, -0.5), launch, visible=False),
    ),
    budget=Budget(
        "n = 1024, 4 full blocks",
        "each of the 32 warps reads its 32 elements once, together, and one lane writes",
        global_load_requests=32,
        global_store_requests=32,
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n, 0.25), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "Every lane, also one past the end, has to reach `__ballot_sync(0xffffffffu, answer)`. What should a lane past the end answer?",
        "`const bool above = i < n && x[i] > limit;` then the ballot of `above`, then `__popc` of the word that comes back.",
    ),
)
