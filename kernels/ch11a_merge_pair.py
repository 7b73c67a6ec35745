import numpy as np

from lanewise.exercise import Case, Exercise, Launch, lengths


def data(rows, spread=1.0, change=lambda half, other: None):
    """ma, la, mb, lb, m, l: (rows), oa, ob, o: (rows, 32), float32. `change(a, b)` edits the two halves, each a list m, l, o."""

    def make(rng):
        halves = []
        for _ in "ab":
            m, l = spread * rng.standard_normal(rows, dtype=np.float32), rng.uniform(1, 50, rows).astype(np.float32)  # noqa: E741
            halves.append([m, l, rng.standard_normal((rows, 32), dtype=np.float32)])
        change(*halves)
        given = {name + which: array for which, half in zip("ab", halves, strict=True) for name, array in zip("mlo", half, strict=True)}
        return given | {"m": np.empty(rows, np.float32), "l": np.empty(rows, np.float32), "o": np.empty((rows, 32), np.float32)}

    return make


def empty(half, rows):
    half[0][rows], half[1][rows], half[2][rows] = -np.inf, 0, 0


def alike(a, b):
    """Both halves weigh the same: here, and only here, the plain average is right."""
    b[0][:], b[1][:] = a[0], a[1]


def launch(data):
    return Launch(data["m"].size, 32, "ma la oa mb lb ob m l o")


def reference(data):
    m, l, o = ([data[name + half].astype(np.float64) for half in "ab"] for name in "mlo")  # noqa: E741
    top = np.maximum(*m)
    weight = [l[h] * np.exp(m[h] - np.where(top > -np.inf, top, 0)) for h in (0, 1)]  # an empty half's is 0 * exp(-inf)
    total = weight[0] + weight[1]
    mean = sum(weight[h][:, None] * o[h] for h in (0, 1)) / np.where(total > 0, total, 1)[:, None]
    return {"m": top, "l": total, "o": mean}


exercise = Exercise(
    title="Two halves of a softmax become one",
    reference=reference,
    rtol=3e-6,
    atol=2e-6,  # o is a mean of numbers up to 4, with weights that are off by 2e-7 or so
    cases=(
        Case("halves that weigh the same", data(2, 1.0, alike), launch),
        Case("4 rows", data(4), launch),
        Case("half b is empty", data(3, 1.0, lambda a, b: empty(b, slice(None))), launch),
        Case("half a is empty in row 1", data(3, 1.0, lambda a, b: empty(a, 1)), launch),
        Case("both are empty in row 2", data(4, 1.0, lambda a, b: (empty(a, 2), empty(b, 2))), launch),
        Case("more than 200 apart", data(4, 300.0), launch),
        Case("another shape", data(5, 20.0, lambda a, b: (empty(a, 4), empty(b, slice(3, 5)))), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n, 50.0), launch) for (n,) in lengths(rng, 32)],
    hints=(
        "Half a has la terms' worth of weight, but measured against its own maximum. What is that sum against m_new? And what is exp(-inf - -inf)?",
        "`wa = la * expf(ma - m_new)` unless the half is empty, which weighs 0; the same for b; then o = (wa * oa + wb * ob) / (wa + wb), or 0 without a key.",
    ),
)
