import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(n):
    """x, y: n float32."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["x"].size, 512), 128, "x y n")


exercise = Exercise(
    title="Four elements a thread, and no sector twice",
    reference=lambda data: {"y": 2.0 * data["x"].astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("2 full blocks", data(1024), launch),
        Case("one element", data(1), launch),
        Case("one short of a block", data(511), launch),
        Case("one more than a block", data(513), launch),
        Case("another length", data(1300), launch, visible=False),
    ),
    budget=Budget("2 full blocks", "1024 floats are 128 sectors, and each is wanted once", global_load_sectors=128, global_store_sectors=128),
    budget_share=1.0,
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 512)],
    hints=(
        "Don't follow one thread through its loop. Stop at k = 0 and look along the warp: lane 0 reads first + 0, lane 1 first + 4, lane 2 first + 8.",
        "Let t run along the elements, and k from one group of 128 to the next: `first + k * 128 + t`.",
    ),
)
