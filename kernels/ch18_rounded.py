import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(x):
    """x: the numbers, or how many random ones; rounded: (3, n), float32."""

    def make(rng):
        numbers = rng.standard_normal(x, dtype=np.float32) * np.float32(2) ** rng.integers(-10, 10, x) if isinstance(x, int) else np.float32(x)
        return {"x": numbers.astype(np.float32), "rounded": np.empty((3, len(numbers)), np.float32), "n": np.int32(len(numbers))}

    return make


def nearest(x, bits):
    """float32 numbers without their last `bits` bits, rounded to nearest, ties to even."""
    u = x.view(np.uint32).astype(np.uint64)
    return ((u + (1 << (bits - 1)) - 1 + (u >> bits & 1)) >> bits << bits).astype(np.uint32).view(np.float32)


def reference(data):
    """The three roundings. tf32 rounds ties away from zero."""
    x = data["x"]
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).astype(np.float32)
    return {"rounded": np.stack([half, nearest(x, 16), ((x.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)]).astype(np.float64)}


example = Example(
    title="Three shorter formats",
    reference=reference,
    rtol=0.0,
    atol=0.0,  # a rounding is right or wrong
    cases=(
        Case("random numbers", data(200), lambda data: Launch(ceil_div(len(data["x"]), 128), 128, "x rounded n")),
        Case(
            "ties, and the ends of fp16",
            data([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 65504, 65519, 65520, 1e5, 6e-8, 2e-8, 0, -1e38]),
            Launch(1, 128, "x rounded n"),
        ),
    ),
)
