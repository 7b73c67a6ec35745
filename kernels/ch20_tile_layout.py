import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(swizzled):
    """x, raw: (8, 64), uint16; eight 16-byte chunks a row."""
    return lambda rng: {
        "x": rng.integers(0, 1 << 16, (8, 64), dtype=np.uint16),
        "raw": np.empty((8, 64), np.uint16),
        "swizzled": np.int32(swizzled),
    }


def reference(data):
    """Place c of row r holds chunk c ^ r: the exclusive or undoes itself."""
    chunks = data["x"].reshape(8, 8, 8)
    if data["swizzled"]:
        chunks = np.stack([chunks[r, np.arange(8) ^ r] for r in range(8)])
    return {"raw": chunks.reshape(8, 64)}


example = Example(
    title="Where the chunks of a swizzled tile lie",
    reference=reference,
    cases=(
        Case("plain", data(0), Launch(1, 64, "x raw swizzled")),
        Case("swizzled", data(1), Launch(1, 64, "x raw swizzled")),
    ),
)
