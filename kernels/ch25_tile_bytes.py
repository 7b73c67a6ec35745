import numpy as np

from lanewise.exercise import Case, Example, Launch, TensorMap

MODES = {"32B": 16, "64B": 32, "128B": 64}  # columns of a box: a row has the bytes that the swizzle spans


def data(bytes):
    """X, place: (8, 64): X's elements are their own numbers."""
    return lambda rng: {"X": np.arange(512, dtype=np.float16).reshape(8, 64), "place": np.empty((8, 64), np.uint16), "bytes": np.int32(bytes)}


def swizzled(X, mode):
    """The tile's bytes as (8, 64) uint16: 16-byte chunk c of a row goes to where its address, bits 4 to 6, is XORed with bits 7 to 9."""
    columns = MODES[mode]
    rows = X[:, :columns].reshape(-1).view(np.uint16).reshape(-1, 8)  # chunks in order
    chunks = np.arange(len(rows))
    mask = {"32B": 1, "64B": 3, "128B": 7}[mode]
    place = np.zeros((64, 8), np.uint16)
    place[chunks ^ (chunks >> 3 & mask)] = rows
    return place.reshape(8, 64)


def case(mode):
    columns = MODES[mode]
    launch = Launch(1, 32, (TensorMap("X", (8, columns), mode), "place", "bytes"))
    return Case(f"swizzle {mode}", data(8 * columns * 2), launch)


def reference(data):
    mode = {1024: "128B", 512: "64B", 256: "32B"}[int(data["bytes"])]
    return {"place": swizzled(data["X"], mode)}


example = Example(
    title="Where the copy engine lays the chunks of a tile",
    reference=reference,
    cases=(case("32B"), case("64B"), case("128B")),
)
