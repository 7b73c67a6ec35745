import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(rows, keys, parts, size, spread=1.0):
    """S: (rows, keys), V: (keys, 32), m, l: (rows, parts), o: (rows, parts, 32), float32."""
    return lambda rng: {
        "S": spread * rng.standard_normal((rows, keys), dtype=np.float32),
        "V": rng.standard_normal((keys, 32), dtype=np.float32),
        "m": np.empty((rows, parts), np.float32),
        "l": np.empty((rows, parts), np.float32),
        "o": np.empty((rows, parts, 32), np.float32),
        "keys": np.int32(keys),
        "size": np.int32(size),
    }


def launch(data):
    return Launch(data["m"].shape, 32, "S V m l o keys size")


def reference(data):
    S, V, size = data["S"].astype(np.float64), data["V"].astype(np.float64), int(data["size"])
    rows, parts = data["m"].shape
    m, l, o = np.full((rows, parts), -np.inf), np.zeros((rows, parts)), np.zeros((rows, parts, 32))  # noqa: E741
    for part in range(parts):
        s = S[:, part * size : (part + 1) * size]
        if s.shape[1]:
            m[:, part] = s.max(axis=1)
            p = np.exp(s - m[:, part, None])
            l[:, part] = p.sum(axis=1)
            o[:, part] = p @ V[part * size : (part + 1) * size] / l[:, part, None]
    return {"m": m, "l": l, "o": o}


example = Example(
    title="Softmax state of each part of the keys",
    reference=reference,
    rtol=2e-5,
    atol=4e-6,  # scores up to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("4 parts of 40", data(2, 160, 4, 40), launch),
        Case("one key", data(1, 1, 1, 1), launch),
        Case("a short last part", data(2, 70, 2, 64), launch),
        Case("an empty last part", data(2, 5, 4, 2), launch),
        Case("scores far apart", data(2, 100, 3, 40, 30.0), launch),
    ),
)
