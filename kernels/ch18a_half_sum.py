import numpy as np

from lanewise.exercise import Case, Exercise, Launch, lengths


def data(rows, n, numbers=lambda rng, shape: rng.random(shape)):
    """x, y: (rows, n), fp16; out: (rows), float32."""

    def make(rng):
        x, y = (numbers(rng, (rows, n)).astype(np.float16) for _ in range(2))
        return {"x": x, "y": y, "out": np.empty(rows, np.float32), "n": np.int32(n)}

    return make


def all_of(value):
    return lambda rng, shape: np.full(shape, value)


def small_behind_large(rng, shape):
    """128 in every lane's first place, then numbers from 0 to 1."""
    numbers = rng.random(shape)
    numbers[:, :32] = 128
    return numbers


def launch(data):
    return Launch(len(data["out"]), 32, "x y out n")


exercise = Exercise(
    title="A sum in fp16",
    reference=lambda data: {"out": (data["x"].astype(np.float64) * data["y"]).sum(axis=1)},
    atol=0.0,
    rtol=4e-6,  # positive numbers, up to 64 a lane and 5 additions: 69 * 2**-24
    cases=(
        Case("1000 numbers from 0 to 1", data(3, 1000), launch),
        Case("96 products of 900", data(1, 96, all_of(30)), launch),
        Case("products of 90,000", data(2, 5, all_of(300)), launch),
        Case("small numbers behind large ones", data(2, 1200, small_behind_large), launch),
        Case("one product, with more than 11 bits", data(1, 1, all_of(1.3)), launch),
        Case("other numbers", data(2, 777), launch, visible=False),
    ),
    variation=lambda rng: [
        Case(f"{n} numbers", data(2, n, all_of(float(rng.integers(200, 250))) if n < 64 else small_behind_large), launch) for (n,) in lengths(rng, 512)
    ],
    hints=(
        "fp16 ends at 65504, and from 2048 on it knows only even numbers: 2048 + 1 is 2048. The inputs are fine. Which variable isn't?",
        "A float32 `sum`: `sum = fmaf(__half2float(x[i]), __half2float(y[i]), sum)`, and the shuffles on float32, too. The products are exact then.",
    ),
)
