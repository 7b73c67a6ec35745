import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div


def data(*lengths, scale=1.0, spoil=()):
    """x: all rows behind each other; first: rows + 1; sum: rows, added up in float32; right: rows. `spoil` are (row, function of its numbers and sum)."""

    def make(rng):
        rows = [(scale * rng.standard_normal(n)).astype(np.float32) for n in lengths]
        sums = np.array([np.cumsum(row, dtype=np.float32)[-1] if row.size else 0.0 for row in rows], dtype=np.float32)
        for row, change in spoil:
            sums[row] = change(rows[row], sums[row])
        return {
            "x": np.concatenate([*rows, np.zeros(0, np.float32)]),
            "first": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            "sum": sums,
            "right": np.empty(len(lengths), np.int32),
            "rows": np.int32(len(lengths)),
        }

    return make


def launch(data):
    return Launch(ceil_div(data["sum"].size, 64), 64, "x first sum right rows")


def reference(data):
    right = []
    for start, end, total in zip(data["first"][:-1], data["first"][1:], data["sum"].astype(np.float64), strict=True):
        row = data["x"][start:end].astype(np.float64)
        right.append(int(abs(total - row.sum()) <= row.size * 2.0**-24 * np.abs(row).sum()))
    return {"right": np.array(right, dtype=np.int32)}


def without_last(row, total):
    """As if the loop ended one early."""
    return row[:-1].sum()


def half_off(row, total):
    return total + np.float32(0.5 * row.size * 2.0**-24 * np.abs(row).sum())


def twice_off(row, total):
    return total + np.float32(2.0 * row.size * 2.0**-24 * np.abs(row).sum())


def drawn(rng, rows):
    """Data of a hidden case: rows of drawn lengths, one of them empty where there are several, of a drawn size; a third of them spoiled."""
    lengths = rng.integers(20, 60, rows)
    if rows > 1:
        lengths[rng.integers(rows)] = 0
    changes = (without_last, half_off, twice_off, lambda row, total: np.nan)
    spoil = [(int(row), changes[int(rng.integers(len(changes)))]) for row in np.flatnonzero(lengths)[::3]]
    return data(*(int(n) for n in lengths), scale=float(10.0 ** rng.integers(-6, 7)), spoil=spoil)


exercise = Exercise(
    title="A tolerance that knows the length",
    reference=reference,
    cases=(
        Case("small numbers, one dropped", data(200, 200, 200, scale=1e-6, spoil=[(1, without_last)]), launch),
        Case("large numbers, all right", data(300, 300, scale=1e6), launch),
        Case("within the limit, and beyond", data(100, 100, 64, spoil=[(0, half_off), (1, twice_off)]), launch),
        Case("empty rows", data(0, 3, 0, spoil=[(2, lambda row, total: 1e-30)]), launch),
        Case("a sum that is NaN", data(5, 5, spoil=[(1, lambda row, total: np.nan)]), launch),
        Case("70 rows", data(*range(70), spoil=[(69, without_last), (3, twice_off)]), launch),
        Case("others", data(0, 1, 250, scale=1e3, spoil=[(2, without_last)]), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"{rows} rows", drawn(rng, rows), launch) for rows in (1, 63, 65, int(rng.integers(66, 130)))],
    hints=(
        (
            "What does 1e-5 mean for numbers of size 1e-6, and for 300 numbers of size 1e6? The contract's head has "
            "the formula. In which type must the exact sum be added up?"
        ),
        (
            "Two double sums, of x[k] and of its absolute value; limit = (end - start) * 0x1p-24 * size. Write "
            "`error <= limit`, which is false for NaN, and not `!(error > limit)`."
        ),
    ),
)
