import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(pitch):
    """Q: (16, 64), K: (64, 64), fp16, S: (16, 64), float32; pitch: fp16 numbers a row of the tile, padding included."""
    return lambda rng: {
        "Q": rng.standard_normal((16, 64), dtype=np.float32).astype(np.float16),
        "K": rng.standard_normal((64, 64), dtype=np.float32).astype(np.float16),
        "S": np.empty((16, 64), np.float32),
        "pitch": np.int32(pitch),
    }


def launch(data):
    return Launch(1, 32, "Q K S pitch", 80 * int(data["pitch"]) * 2)


example = Example(
    title="Scores on tensor cores, each lane fetches its own words",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    atol=5e-5,  # 64 exact products of size 1: a sum of 20 or so, rounded or cut off at each of 4 steps
    cases=(
        Case("rows of 64", data(64), launch),
        Case("rows padded to 72", data(72), launch),
    ),
    budget=(
        Budget("rows padded to 72", "4 + 16 words a lane a step, 4 steps, one pass each", shared_load_requests=80, shared_load_wavefronts=80),
        Budget("rows of 64", "8 rows in the same four banks: 8 passes each", shared_load_wavefronts=640),
    ),
)
