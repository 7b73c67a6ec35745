import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(height, width, pad):
    """in: (height, width), out: (width, height), float32; pad: floats at the end of each row of the tile."""
    return lambda rng: {
        "in": rng.standard_normal((height, width), dtype=np.float32),
        "out": np.empty((width, height), np.float32),
        "height": np.int32(height),
        "width": np.int32(width),
        "pad": np.int32(pad),
    }


def launch(data):
    height, width = data["in"].shape
    return Launch((width // 32, height // 32), (32, 32), "in out height width pad", 4 * 32 * (32 + int(data["pad"])))


example = Example(
    title="Transpose through a tile of shared memory",
    reference=lambda data: {"out": data["in"].T.astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("a tile, not padded", data(32, 32, 0), launch),
        Case("64 rows of 96, padded by 1", data(64, 96, 1), launch),
    ),
    budget=Budget(
        "64 rows of 96, padded by 1",
        "6 tiles of 32 rows, 4 sectors a row and one pass for each of the 32 requests a tile makes",
        global_load_sectors=6 * 32 * 4,
        global_store_sectors=6 * 32 * 4,
        shared_load_wavefronts=6 * 32,
        shared_store_wavefronts=6 * 32,
    ),
)
