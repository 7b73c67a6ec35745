import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip, lengths


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


def power_below(top):
    return np.where(top > 0, 2.0 ** (np.frexp(top)[1] - 1), 1.0).astype(np.float32)


def half(x):
    return x.astype(np.float16).astype(np.float32)


def bf16(x):
    """float32 with 8 significant bits, to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def scaled(says, scale=lambda x: power_below(np.abs(x).max(axis=1, keepdims=True)), cut=half, back=lambda y, s: y * s):
    """A Slip: `scale(x)` for each row or element, `cut` to 16 bits, and `back`."""

    def gives(data):
        x = data["x"]
        s = np.broadcast_to(scale(x), x.shape)
        return {"y": back(cut(x / s), s).astype(np.float64), "scale": s[:, 0].astype(np.float64)}

    return Slip(says, gives)


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
    slips=(
        scaled("That is bf16 without a scale: it takes every size, and keeps 8 bits.", scale=np.ones_like, cut=bf16),
        scaled("The scale is right, and y has the 8 bits of bf16: fp16 keeps 11.", cut=bf16),
        scaled("That is fp16 without the row's scale: with 1, or with one that a lane takes for itself.", scale=np.ones_like),
        scaled("The scale is right, and y is x: nothing went through 16 bits.", cut=lambda x: x),
        scaled("y is still divided by the scale: multiply what comes back.", back=lambda y, s: y),
        scaled("That is a scale from the largest x: -3 is a large number, too. Take |x|.", scale=lambda x: power_below(np.maximum(x.max(1, keepdims=True), 0))),
        scaled(
            "That is the largest |x| itself as scale, not the power of two below it: dividing by it rounds once more.",
            scale=lambda x: np.where(np.any(x, axis=1, keepdims=True), np.abs(x).max(axis=1, keepdims=True), np.float32(1)),
        ),
        scaled(
            "A row of zeros was divided by 0: its scale is 1.",
            scale=lambda x: np.where(np.any(x, axis=1, keepdims=True), power_below(np.abs(x).max(axis=1, keepdims=True)), np.float32(0)),
        ),
    ),
    variation=lambda rng: [Case(f"{n} numbers", data(3, n, int(rng.integers(-25, 25))), launch) for (n,) in lengths(rng, 64)],
    hints=(
        "bf16 has 8 bits, fp16 has 11. What bf16 has more of is range, and a factor for each row gives fp16 all the range it needs.",
        "The row's largest |x| by `fmaxf` over the lane's numbers and shuffles; `__float_as_uint(top) & 0x7f800000` are the bits of the power of two below it; "
        "divide, `__float2half`, multiply. A row of zeros has the scale 1.",
    ),
)
