import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip, ceil_div


def data(N, spread=1.0, empty=()):
    """O, o: (N, 32), LSE, lse: (N), float32. `empty`: of every three rows, those whose old (0) or new (1) half saw no key, or both (2)."""

    def make(rng):
        O, o = rng.standard_normal((2, N, 32), dtype=np.float32)  # noqa: E741
        LSE, lse = (spread * rng.standard_normal((2, N))).astype(np.float32)
        for kind in empty:
            rows = slice(kind, None, 3)
            for half, (values, logs) in enumerate(((O, LSE), (o, lse))):
                if kind in (half, 2):
                    values[rows], logs[rows] = 0, -np.inf
        return {"O": O, "LSE": LSE, "o": o, "lse": lse, "N": np.int32(N)}

    return make


def launch(data):
    return Launch(ceil_div(len(data["LSE"]), 4), 128, "O LSE o lse N")


def reference(data):
    """The join in float64; 0 and -inf where neither half saw a key."""
    logs = np.stack([data["LSE"], data["lse"]]).astype(np.float64)
    top = logs.max(axis=0)
    weights = np.exp(logs - np.where(np.isinf(top), 0, top))
    total = weights.sum(axis=0)
    with np.errstate(divide="ignore"):
        LSE = top + np.log(total)
    weights /= np.where(total > 0, total, 1)
    return {"O": weights[0][:, None] * data["O"] + weights[1][:, None] * data["o"], "LSE": LSE}


def parts(data):
    """old and new LSE, base, and what each half weighs against it."""
    old, new = data["LSE"].astype(np.float64), data["lse"].astype(np.float64)
    top = np.maximum(old, new)
    base = np.where(np.isinf(top), 0, top)
    return old, new, base, np.exp(old - base)[:, None], np.exp(new - base)[:, None]


def weighed(says, keep):
    """A Slip: O = keep(a, b) O + keep(b, a) o, with a and b the weights before they are normalised."""

    def gives(data):
        _, _, _, a, b = parts(data)
        return {"O": keep(a, b) * data["O"] + keep(b, a) * data["o"]}

    return Slip(says, gives)


def unmeasured(data):
    """float32's e^LSE, which overflows from 89 on."""
    a, b = (np.exp(data[name].astype(np.float32))[:, None] for name in ("LSE", "lse"))
    with np.errstate(all="ignore"):
        keep, add = (np.where(a + b > 0, one / (a + b), 0) for one in (a, b))
    return {"O": keep * data["O"].astype(np.float64) + add * data["o"]}


def empty_rows(says, name):
    """A Slip: the right result, but NaN where neither half saw a key."""

    def gives(data):
        right = reference(data)[name]
        right[np.isinf(data["LSE"]) & np.isinf(data["lse"])] = np.nan
        return {name: right}

    return Slip(says, gives)


exercise = Exercise(
    title="A further chunk",
    reference=reference,
    updates=("O", "LSE"),
    rtol=2e-6,
    atol=1e-5,  # an LSE of 100 is off by 4e-6 of it as float32
    cases=(
        Case("eight rows", data(8), launch),
        Case("halves without a key", data(9, 1.0, (0, 1, 2)), launch),
        Case("hundreds apart", data(5, 200.0), launch),
        Case("other numbers", data(6, 30.0, (1, 2)), launch, visible=False),
    ),
    slips=(
        weighed("That is the mean of the halves: a half counts as much as its sum of exp(score), e^LSE.", lambda a, b: 0.5),
        weighed("The two weights have changed places.", lambda a, b: b / (a + b)),
        weighed("The weights aren't divided by their sum.", lambda a, b: a),
        Slip("That is the larger of the two LSE: the joined one is the logarithm of both sums together.", lambda data: {"LSE": np.maximum(*parts(data)[:2])}),
        Slip("e^LSE overflows: measure both against the larger LSE first.", unmeasured),
        empty_rows("Where neither half saw a key that is -inf - -inf, a NaN: subtract 0 there.", "LSE"),
        empty_rows("Where neither half saw a key that is 0 / 0: both weights are 0 there.", "O"),
    ),
    variation=lambda rng: [
        Case(f"{n} rows", data(n, spread, empty), launch)
        for n, spread, empty in ((1, 90.0, (2,)), (3 + 2 * int(rng.integers(2)), 60.0, (0, 2)), (11, 1.0, (1,)))
    ],
    hints=(
        "Chapter 11: e^LSE is a half's sum of all exp(score), measured against 0. The halves' weights are in proportion to it. What overflows there, "
        "and what helped in "
        "chapter 10?",
        "With base = max(old, more), or 0 if that is −∞: a = e^(old − base), b = e^(more − base), joined = base + log(a + b), weights a / (a + b) and "
        "b / (a + b); 0 if "
        "a + b is 0.",
    ),
)
