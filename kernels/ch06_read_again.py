import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(n, rounds):
    """x, y: n float32 each, a multiple of 128; rounds: how often x is read."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n), "rounds": np.int32(rounds)}


def launch(data):
    return Launch(data["y"].size // 128, 128, "x y n rounds")


def reference(data):
    x = data["x"].astype(np.float64)
    far = max(128, x.size // int(data["rounds"]) // 128 * 128)
    return {"y": sum((np.roll(x, -far * r) for r in range(int(data["rounds"]))), np.zeros_like(x))}


example = Example(
    title="The same bytes, read again and again",
    reference=reference,
    cases=(
        Case("one round", data(256, 1), launch),
        Case("1024 elements, 8 rounds", data(1024, 8), launch),
        Case("more rounds than blocks", data(256, 5), launch),
    ),
    budget=Budget("1024 elements, 8 rounds", "8 rounds of 4096 bytes", global_load_sectors=8 * 128),
)
