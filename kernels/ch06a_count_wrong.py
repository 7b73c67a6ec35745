import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

RTOL, ATOL = np.float32(1e-3), np.float32(1e-4)


def data(n, wrong=(), specials=()):
    """got, want: n float32; count: (1) int32. got is off by half the tolerance, at `wrong` by twice that; `specials` are (index, got, want)."""

    def make(rng):
        want = rng.standard_normal(n, dtype=np.float32)
        error = np.full(n, 0.5)
        error[list(wrong)] = 2.0
        got = (want + error * rng.choice([-1, 1], n) * (ATOL + RTOL * np.abs(want))).astype(np.float32)
        for index, a, b in specials:
            got[index], want[index] = a, b
        return {"got": got, "want": want, "count": np.zeros(1, np.int32), "rtol": RTOL, "atol": ATOL, "n": np.int32(n)}

    return make


def launch(data):
    return Launch(ceil_div(data["got"].size, 256), 256, "got want count rtol atol n")


def reference(data):
    a, b = data["got"].astype(np.float64), data["want"].astype(np.float64)
    right = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    right[finite] |= np.abs(a[finite] - b[finite]) <= float(data["atol"]) + float(data["rtol"]) * np.abs(b[finite])
    return {"count": data["count"] + np.array([(~right).sum()], dtype=np.int32)}


nan, inf = np.nan, np.inf
PAIRS = [(nan, 1.0), (1.0, nan), (nan, nan), (inf, inf), (-inf, inf), (1.0, inf), (inf, 1.0), (nan, inf)]


def drawn(rng, n):
    """For a hidden case: a third of the elements wrong, and as many special pairs as there is room for, in drawn places."""
    places = [int(i) for i in rng.permutation(n)]
    specials = [(place, *PAIRS[k]) for place, k in zip(places, rng.permutation(len(PAIRS)), strict=False)]
    return places[len(specials) : len(specials) + n // 3], specials


exercise = Exercise(
    title="Count the wrong elements, and let no NaN slip through",
    reference=reference,
    updates=("count",),
    cases=(
        Case("n = 1000, all right", data(1000), launch),
        Case("NaN where a number is wanted", data(300, (7,), [(0, nan, 1.0), (299, nan, 0.0)]), launch),
        Case("a number where NaN is wanted; NaN where it is wanted", data(40, (), [(3, 1.0, nan), (4, nan, nan)]), launch),
        Case("infinities", data(40, (), [(1, inf, inf), (2, -inf, inf), (3, 1.0, inf), (4, inf, 1.0), (5, nan, inf)]), launch),
        Case("n = 1024, many wrong", data(1024, range(0, 1024, 3)), launch),
        Case("one element, wrong", data(1, (0,)), launch),
        Case("others", data(500, (255, 256, 499), [(100, nan, inf), (257, -inf, -inf)]), launch, visible=False),
    ),
    budget=Budget("n = 1024, many wrong", "32 warps, one atomicAdd each, and one request each for got and for want", atomics=32, global_load_requests=2 * 32),
    variation=lambda rng: [Case(f"n = {n}", data(n, *drawn(rng, n)), launch) for (n,) in lengths(rng, 256)],
    hints=(
        "`NaN > limit` is false, and so is `NaN <= limit`: ask for what is right, and negate that. And what is the limit where infinity is wanted?",
        (
            "Right: a == b, or both isnan, or fabsf(a - b) <= limit with a finite b. All 32 lanes come to "
            "`__ballot_sync(0xffffffffu, wrong)`; lane 0 adds `__popc` of it."
        ),
    ),
)
