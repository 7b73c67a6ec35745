import numpy as np

from lanewise.exercise import Case, Example, Launch, TensorMap

BITS = {"none": 0, "32B": 1, "64B": 3, "128B": 7}


def case(columns, mode):
    """X: 512 elements in rows of `columns`, fp16, their own numbers."""
    launch = Launch(1, 32, (TensorMap("X", (512 // columns, columns), mode), "place"))
    return Case(f"rows of {2 * columns} bytes, swizzle {mode}", lambda rng: data(columns, mode), launch)


def data(columns, mode):
    return {"X": np.arange(512, dtype=np.float16).reshape(-1, columns), "place": np.empty(512, np.float16), "mode": mode}


def reference(data):
    """The chunk of 16 bytes at address 16 c goes to 16 (c ^ bits): bits 7 to 9 of its address, as many as the mode's chunks have."""
    chunks = np.arange(64)
    place = np.empty((64, 8), np.float16)
    place[chunks ^ (chunks >> 3 & BITS[data["mode"]])] = data["X"].reshape(64, 8)
    return {"place": place.reshape(-1)}


example = Example(
    title="Where the copy engine lays the chunks of a tile",
    reference=reference,
    rtol=0,
    atol=0,
    cases=(case(64, "none"), case(16, "32B"), case(32, "64B"), case(64, "128B")),
)
