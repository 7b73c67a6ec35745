import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(n, steps):
    """y: n float32; steps: multiply-adds of each thread."""
    return lambda rng: {"y": np.empty(n, np.float32), "steps": np.int32(steps)}


def launch(data):
    return Launch(data["y"].size // 64, 64, "y steps")


def reference(data):
    v = np.arange(data["y"].size) % 7.0
    for _ in range(int(data["steps"])):
        v = v * 0.5 + 1.0
    return {"y": v}


example = Example(
    title="Chains of multiply-adds, to see what waiting costs",
    reference=reference,
    cases=(
        Case("no step", data(64, 0), launch),
        Case("3 steps, 2 blocks", data(128, 3), launch),
        Case("40 steps", data(64, 40), launch),
    ),
)
