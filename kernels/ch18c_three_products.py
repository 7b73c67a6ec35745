import numpy as np

from lanewise.exercise import AtLeast, Budget, Case, Exercise, Launch, Slip, lengths


def data(rows, n, size=1.0):
    """x, y: (rows, n), positive numbers up to `size`; out: (rows), float32."""
    return lambda rng: {
        "x": np.float32(size) * rng.random((rows, n), dtype=np.float32),
        "y": np.float32(size) * rng.random((rows, n), dtype=np.float32),
        "out": np.empty(rows, np.float32),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(len(data["out"]), 32, "x y out n")


def cut(x):
    """What tf32_fma reads of a float32."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32)


def tf32(x):
    return ((np.ascontiguousarray(x, np.float32).view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)


def products(says, of):
    """A Slip: the sum of of(a, b, a_rest, b_rest), each rounded to tf32."""

    def gives(data):
        x, y = data["x"], data["y"]
        a, b = tf32(x), tf32(y)
        parts = (part.astype(np.float64) for part in (a, b, tf32(x - a), tf32(y - b)))
        return {"out": of(*parts).sum(axis=1)}

    return Slip(says, gives)


exercise = Exercise(
    title="float32 from tf32",
    reference=lambda data: {"out": (data["x"].astype(np.float64) * data["y"]).sum(axis=1)},
    atol=0.0,
    rtol=2.0**-19,  # of positive numbers: 3 products lose 2**-21 of each, and 3 * 7 + 5 additions in float32 2**-20 at the very worst
    cases=(
        Case("200 numbers", data(4, 200), launch),
        Case("one product", data(20, 1), launch),
        Case("size 1000", data(3, 37, 1000), launch),
        Case("size 1e-3", data(3, 64, 1e-3), launch),
        Case("other numbers", data(5, 100), launch, visible=False),
    ),
    budget=(
        Budget(
            "200 numbers",
            "three products and two subtractions a number, and the shuffles; a fourth product adds less than float32 keeps",
            flops=4 * (200 * 8 + 5 * 32),
        ),
        Budget("size 1000", "three products a number, each through tf32_fma, and the shuffles", flops=AtLeast(3 * (37 * 6 + 5 * 32))),
    ),
    slips=(
        Slip(
            "That is the sum of products of factors cut to 11 bits: what tf32_fma doesn't read of them has to come in products of its own.",
            lambda data: {"out": (cut(data["x"]).astype(np.float64) * cut(data["y"])).sum(axis=1)},
        ),
        products("That is the sum of products of the rounded numbers alone: the rests are missing.", lambda a, b, a_rest, b_rest: a * b),
        products("The product of x's rounded part and y's rest is missing.", lambda a, b, a_rest, b_rest: a * b + a_rest * b),
        products("The product of x's rest and y's rounded part is missing.", lambda a, b, a_rest, b_rest: a * b + a * b_rest),
        products("The rests come with the wrong sign: a rest is x - tf32(x).", lambda a, b, a_rest, b_rest: a * b - a_rest * b - a * b_rest),
    ),
    variation=lambda rng: [Case(f"{n} numbers", data(3, n, 2.0 ** int(rng.integers(-8, 8))), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "A float32 has 24 bits, a factor 11. Two factors together hold 22 of them: the number rounded, and what the rounding left over.",
        "`a = tf32(x[i])`, `a_rest = tf32(x[i] - a)`, the same for y. Add `a_rest b`, `a b_rest` and `a b`; `a_rest b_rest` is 2**-22 of the product.",
    ),
)
