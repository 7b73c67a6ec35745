import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(n, steps):
    """y: n float32; n is a multiple of 256."""
    return lambda rng: {"y": np.empty(n, np.float32), "steps": np.int32(steps)}


def reference(data):
    t, steps = np.arange(data["y"].size) % 256, int(data["steps"])
    return {"y": np.where(t // 32 % 2 == 1, 0.5**steps, 1.0 + 0.5 * steps)}


example = Example(
    title="Two recipes, chosen by the warp",
    reference=reference,
    cases=(
        Case("one block, 16 steps", data(256, 16), Launch(1, 256, "y steps")),
        Case("four blocks, no step", data(1024, 0), Launch(4, 256, "y steps")),
    ),
)
