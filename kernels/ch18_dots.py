import numpy as np

from lanewise.exercise import Case, Example, Launch, ceil_div


def data(count, n, size=1.0):
    """A, B: (n, count), from 0 to `size`; out: (4, count), float32."""
    return lambda rng: {
        "A": size * rng.random((n, count), dtype=np.float32),
        "B": size * rng.random((n, count), dtype=np.float32),
        "out": np.empty((4, count), np.float32),
        "count": np.int32(count),
        "n": np.int32(n),
    }


def launch(data):
    return Launch(ceil_div(data["out"].shape[1], 64), 64, "A B out count n")


def bf16(x):
    """float32 numbers rounded to bf16, ties to even."""
    u = x.view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def reference(data):
    """Exact sums of the products of the inputs as they are rounded; the fp16 sum is rounded after each product."""
    A, B = data["A"], data["B"]
    short = np.zeros(A.shape[1], np.float16)
    half = [x.astype(np.float16).astype(np.float64) for x in (A, B)]
    with np.errstate(over="ignore"):
        for a, b in zip(*half, strict=True):
            short = (a * b + short).astype(np.float16)
    exact = [(a.astype(np.float64) * b).sum(axis=0) for a, b in ((A, B), half, (bf16(A), bf16(B)))]
    return {"out": np.stack([*exact, short.astype(np.float64)])}


example = Example(
    title="Dot products, with 16 bits here and there",
    reference=reference,
    rtol=1e-5,  # up to 100 positive numbers in float32: 100 * 2**-24
    cases=(
        Case("a hundred numbers", data(70, 100), launch),
        Case("one number", data(1, 1), launch),
        Case("too large for an fp16 sum", data(33, 60, 60.0), launch),
    ),
)
