import numpy as np

from lanewise.exercise import Case, Exercise, Launch, lengths


def data(rows, n, power=0, shape=lambda x: x):
    """x, y: (rows, n), scale: (rows), float32. Row r has numbers of about 2**(power * (r + 1)). `shape` edits x."""

    def make(rng):
        x = rng.standard_normal((rows, n)) * 2.0 ** (power * (1 + np.arange(rows)[:, None]))
        return {"x": shape(x).astype(np.float32), "y": np.empty((rows, n), np.float32), "scale": np.empty(rows, np.float32), "n": np.int32(n)}

    return make


def zeros_behind_one(x):
    """Row 0 is 1, then tiny numbers; every other row is 0."""
    x[1:] = 0
    x[0, 1:] *= 1e-9
    x[0, 0] = 1
    return x


def launch(data):
    return Launch(len(data["x"]), 32, "x y scale n")


def reference(data):
    """Powers of two divide and multiply exactly: only the rounding to fp16 loses bits."""
    x = data["x"].astype(np.float64)
    top = np.abs(x).max(axis=1)
    scale = np.where(top > 0, 2.0 ** (np.frexp(top)[1] - 1), 1.0)
    return {"y": (x / scale[:, None]).astype(np.float16).astype(np.float64) * scale[:, None], "scale": scale}


exercise = Exercise(
    title="Range from a scale, accuracy from the fraction",
    reference=reference,
    rtol=0.0,
    atol=0.0,  # the scale is a power of two: all but one rounding is exact
    cases=(
        Case("numbers of size 1", data(2, 40), launch),
        Case("up to 1e9", data(3, 64, 10), launch),
        Case("down to 1e-9", data(3, 33, -10), launch),
        Case("1 and tiny numbers, and a row of zeros", data(2, 35, 0, zeros_behind_one), launch),
        Case("one number", data(4, 1, 5), launch),
        Case("other sizes", data(2, 70, 30), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"{n} numbers", data(3, n, int(rng.integers(-25, 25))), launch) for (n,) in lengths(rng, 64)],
    hints=(
        "bf16 has 8 bits, fp16 has 11. What bf16 has more of is range, and a factor for each row gives fp16 all the range it needs.",
        "The row's largest |x| by `fmaxf` over the lane's numbers and shuffles; `__float_as_uint(top) & 0x7f800000` are the bits of the power of two below it; "
        "divide, `__float2half`, multiply. A row of zeros has the scale 1.",
    ),
)
