import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(n, steps):
    """y: n float32, a multiple of 128; steps: multiply-adds of a thread."""
    return lambda rng: {"y": np.empty(n, np.float32), "steps": np.int32(steps)}


def launch(data):
    return Launch(data["y"].size // 128, 128, "y steps")


def reference(data):
    v = np.arange(data["y"].size) % 5.0
    for _ in range(int(data["steps"])):
        v = v * 0.5 + 1.0
    return {"y": v}


example = Example(
    title="Work that a compiler would like to leave out",
    reference=reference,
    cases=(
        Case("no step", data(128, 0), launch),
        Case("50 steps", data(256, 50), launch),
    ),
    budget=Budget("50 steps", "two flops a step", flops=2 * 50 * 256),
)
