import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch


def data(pieces, blocks):
    """x: 256 float4 (1024 float32) for each of `pieces`; y: 256 float32 a block."""
    return lambda rng: {
        "x": rng.standard_normal(1024 * pieces, dtype=np.float32),
        "y": np.empty(256 * blocks, np.float32),
        "n4": np.int32(256 * pieces),
    }


def launch(data):
    return Launch(data["y"].size // 256, 256, "x y n4")


def reference(data):
    blocks = data["y"].size // 256
    of_piece = data["x"].astype(np.float64).reshape(-1, 256, 4).sum(axis=2)
    return {"y": np.concatenate([of_piece[b::blocks].sum(axis=0) for b in range(blocks)])}


example = Example(
    title="Reads, several on their way",
    reference=reference,
    atol=1e-5,  # at most 20 numbers of size 1
    cases=(
        Case("a piece for each block", data(2, 2), launch),
        Case("five pieces, two blocks", data(5, 2), launch),
        Case("a block without a piece", data(1, 2), launch),
    ),
    budget=Budget("five pieces, two blocks", "each float4 is read once", global_load_sectors=5 * 128),
)
