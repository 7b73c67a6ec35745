import numpy as np

from lanewise.exercise import Case, Example, Launch, Trace


def data(rows, parts, spread=1.0, empty=()):
    """m, l: (rows, parts), o: (rows, parts, 32), O: (rows, 32), LSE: (rows), float32; no trace. The parts in `empty` have no keys."""

    def make(rng):
        m = spread * rng.standard_normal((rows, parts), dtype=np.float32)
        l, o = rng.uniform(1, 50, (rows, parts)).astype(np.float32), rng.standard_normal((rows, parts, 32), dtype=np.float32)  # noqa: E741
        for part in empty:
            m[:, part], l[:, part], o[:, part] = -np.inf, 0, 0
        return {
            "m": m,
            "l": l,
            "o": o,
            "O": np.empty((rows, 32), np.float32),
            "LSE": np.empty(rows, np.float32),
            "parts": np.int32(parts),
            "trace": np.uintp(0),
        }

    return make


def launch(data):
    return Launch(data["LSE"].size, 32, "m l o O LSE parts trace")


def joined(m, l, o):  # noqa: E741
    """m, l, o of all parts together, along axis 1, in float64."""
    m, l, o = (a.astype(np.float64) for a in (m, l, o))  # noqa: E741
    top = m.max(axis=1)
    weight = l * np.exp(m - np.where(top > -np.inf, top, 0)[:, None])  # an empty part's is 0 * exp(-inf)
    total = weight.sum(axis=1)
    return top, total, (weight[..., None] * o).sum(axis=1) / np.where(total > 0, total, 1)[:, None]


def reference(data):
    top, total, O = joined(data["m"], data["l"], data["o"])  # noqa: E741
    with np.errstate(divide="ignore"):
        return {"O": O, "LSE": top + np.log(total)}


def states(data):
    """m and l of each row after each part: (rows, parts, 2), float64."""
    seen = [joined(data["m"][:, :k], data["l"][:, :k], data["o"][:, :k])[:2] for k in range(1, data["m"].shape[1] + 1)]
    return np.stack([np.stack(pair, axis=-1) for pair in seen], axis=1)


example = Example(
    title="Parts of a softmax, joined",
    reference=reference,
    trace=Trace(states, step="part"),
    rtol=5e-6,
    cases=(
        Case("two halves", data(3, 2), launch),
        Case("one part", data(2, 1), launch),
        Case("nine parts", data(2, 9), launch),
        Case("empty ones among them", data(2, 5, empty=(0, 3)), launch),
        Case("all empty", data(2, 3, empty=(0, 1, 2)), launch),
        Case("far apart", data(3, 6, 100.0), launch),
    ),
)
