import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(n):
    """x: (n) float32; part: (blocks of 256) float32; done: (1) int32, 0; total: (1) float32."""
    return lambda rng: {
        "x": rng.standard_normal(n, dtype=np.float32),
        "part": np.empty(ceil_div(n, 256), np.float32),
        "done": np.zeros(1, np.int32),
        "total": np.empty(1, np.float32),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(data["part"].size, 256, "x part done total n")


def reference(data):
    blocks = np.zeros((data["part"].size, 256))
    blocks.reshape(-1)[: data["x"].size] = data["x"]
    return {"part": blocks.sum(axis=1), "total": np.array([blocks.sum()]), "done": np.zeros(1, np.int32)}


exercise = Exercise(
    title="A sum in one launch: the last block adds up the parts",
    reference=reference,
    updates=("done",),
    atol=1e-4,  # a dozen additions deep; the sums so far reach 300 or so, and float32 keeps 6e-8 of them
    cases=(
        Case("8 full blocks", data(2048), launch),
        Case("one element", data(1), launch),
        Case("one block", data(256), launch),
        Case("one more than a block", data(257), launch),
        Case("more blocks than lanes", data(40 * 256 - 5), launch),
        Case("another length", data(1500), launch, visible=False),
    ),
    budget=(
        Budget("8 full blocks", "each block takes one number (the last may use two more), and waits for its warps twice", atomics=8 + 2, barriers=2 * 8),
        Budget("8 full blocks", "each of 8 * 8 warps asks once for its 32 elements, and somebody for the 8 parts", global_load_requests=8 * 8 + 8),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "Blocks finish in any order, so ask a counter: atomicAdd returns what was there before, and only one block gets grid - 1. The part must be visible "
        "before the number is taken: `__threadfence()`.",
        "`__threadfence(); last = atomicAdd(done, 1) == gridDim.x - 1; __threadfence();` after the part is stored. At the end shuffle v down to lane 0, which "
        "alone writes *total, and *done = 0.",
    ),
)
