import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(n):
    """x: (n), part: (blocks of 256), float32."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "part": np.empty(ceil_div(n, 256), np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(data["part"].size, 256, "x part n")


def reference(data):
    blocks = np.zeros((data["part"].size, 256))
    blocks.reshape(-1)[: data["x"].size] = data["x"]
    return {"part": blocks.sum(axis=1)}


exercise = Exercise(
    title="Repair a tail that trusts the lockstep of a warp",
    reference=reference,
    atol=1e-5,  # 8 additions deep; the sums reach 50 or so, and float32 keeps 6e-8 of them
    cases=(
        Case("four blocks", data(1024), launch),
        Case("one element", data(1), launch),
        Case("one more than a block", data(257), launch),
        Case("a ragged end", data(1000), launch),
        Case("another length", data(700), launch, visible=False),
    ),
    budget=(
        Budget("four blocks", "one barrier after filling and one after each of the levels 128 and 64; the rest is a matter of one warp", barriers=4 * 3),
        Budget("four blocks", "each of 4 * 8 warps asks once for its 32 elements", global_load_requests=4 * 8),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "In each line all 32 lanes read and write: lane 16 changes s[16] in the very line in which lane 0 reads it. Which lanes still have to add, and what "
        "must have happened before they read?",
        "Go on as the loop above does, with half = 32 .. 1 and `if (t < half)`, and put `__syncwarp();` behind the guard instead of `__syncthreads();`.",
    ),
)
