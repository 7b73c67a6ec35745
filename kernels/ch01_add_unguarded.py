import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(n):
    """a, b, c: n float32 each."""
    return lambda rng: {
        "a": rng.standard_normal(n, dtype=np.float32),
        "b": rng.standard_normal(n, dtype=np.float32),
        "c": np.empty(n, np.float32),
        "n": np.int32(n),
    }


example = Example(
    title="Vector add without a guard: right only where the threads fit exactly",
    reference=lambda data: {"c": data["a"].astype(np.float64) + data["b"]},
    cases=(
        Case("one block, exactly", data(256), Launch(1, 256, "a b c n")),
        Case("four blocks, exactly", data(1024), Launch(4, 256, "a b c n")),
        Case("n = 1000, 24 threads too many", data(1000), Launch(4, 256, "a b c n")),
    ),
    shows="out-of-bounds",
)
