import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(pad):
    """x: (32, 64), sum: (32), float32; pad: floats at the end of each row of the tile, a multiple of 4."""
    return lambda rng: {"x": rng.standard_normal((32, 64), dtype=np.float32), "sum": np.empty(32, np.float32), "pad": np.int32(pad)}


def launch(data):
    return Launch(1, 32, "x sum pad", 4 * 32 * (64 + int(data["pad"])))


example = Example(
    title="Row sums by float4, with rows padded by so many floats",
    reference=lambda data: {"sum": data["x"].astype(np.float64).sum(axis=1)},
    atol=1e-5,  # 64 numbers of size 1 or so: the sum so far reaches 20 or 30, and float32 keeps 6e-8 of it
    cases=(
        Case("not padded", data(0), launch),
        Case("padded by a float4", data(4), launch),
    ),
    budget=Budget("padded by a float4", "16 loads of 512 bytes, 4 passes each", shared_load_wavefronts=64, shared_store_wavefronts=64),
)
