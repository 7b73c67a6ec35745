import numpy as np

from lanewise.exercise import Case, Exercise, Launch, lengths


def data(n):
    """x, y: n float32 each."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    """n / 256 blocks rounded down, at least one: too few threads for one element each."""
    return Launch(max(1, data["y"].size // 256), 256, "x y n")


exercise = Exercise(
    title="Square 1000 elements with 768 threads",
    reference=lambda data: {"y": data["x"].astype(np.float64) ** 2},
    cases=(
        Case("n = 1000, 3 blocks", data(1000), launch),
        Case("one element", data(1), launch),
        Case("a block, exactly", data(256), launch),
        Case("one more than a block", data(257), launch),
        Case("n = 5000, one block", data(5000), Launch(1, 256, "x y n")),
        Case("more blocks than needed", data(100), Launch(4, 256, "x y n")),
        Case("another length", data(1535), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "With 3 blocks of 256, thread 5 owns element 5. Who owns element 768 + 5? Let the same thread go there next.",
        "A loop: start at i, go on while below n, step by gridDim.x * blockDim.x, the number of threads in the grid.",
    ),
)
