import numpy as np

from lanewise.exercise import Case, Exercise, Launch


def data(K, numbers=lambda rng, shape: rng.standard_normal(shape)):
    """A: (16, K), B: (K, 8), fp16; C: (16, 8), float32; K is a multiple of 16."""
    return lambda rng: {
        "A": numbers(rng, (16, K)).astype(np.float16),
        "B": numbers(rng, (K, 8)).astype(np.float16),
        "C": np.empty((16, 8), np.float32),
        "K": np.int32(K),
    }


def steps_times_one(rng, shape):
    """A counts its elements, B is the unit matrix: C is the left half of A."""
    return np.arange(256).reshape(shape) if shape[0] == 16 and shape[1] == 16 else np.eye(*shape)


launch = Launch(1, 32, "A B C K")

exercise = Exercise(
    title="Load the fragments by hand",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"]},
    atol=2e-4,  # exact products, up to 96 of size 1 or a few hundred once: a tensor core may cut a sum of 256 off at 2**-15
    cases=(
        Case("A counts, B is the unit matrix", data(16, steps_times_one), launch),
        Case("random numbers", data(16), launch),
        Case("three steps", data(48), launch),
        Case("other numbers", data(32), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"{steps} steps", data(16 * steps), launch) for steps in (1, int(rng.integers(2, 7)))],
    hints=(
        "Take one lane, say 5: group 1, pair 2. Its register 0 of A holds row 1, columns 2 and 3; register 1 row 9; register 2 columns 10 and 11. "
        "Where do they lie in memory?",
        "A: row `group + r % 2 * 8`, column `start + pair + r / 2 * 8` and the next. B: rows `start + pair + r * 8` and the next, column `group`. "
        "C: row `group + e / 2 * 8`, column `pair + e % 2`.",
    ),
)
