import numpy as np

from lanewise.exercise import Case, Exercise, Launch, lengths


def data(n, specials=()):
    """got, want: n float32; worst: (1) float32. `specials` are (index, got, want)."""

    def make(rng):
        want = rng.standard_normal(n, dtype=np.float32)
        got = want + rng.standard_normal(n, dtype=np.float32) / 64
        for index, a, b in specials:
            got[index], want[index] = a, b
        return {"got": got, "want": want, "worst": np.empty(1, np.float32), "n": np.int32(n)}

    return make


def reference(data):
    a, b = data["got"].astype(np.float64), data["want"].astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.where(a == b, 0.0, np.abs(a - b))
    return {"worst": np.array([np.where(np.isnan(error), np.inf, error).max()])}


launch = Launch(1, 256, "got want worst n")
nan, inf = np.nan, np.inf


def drawn(rng):
    """For hidden cases: lengths, each with no special pair, with equal infinities alone, and with a NaN or an infinity in a drawn place."""
    bad = [(nan, 1.0), (1.0, nan), (inf, 1.0), (-inf, inf), (nan, inf)]
    for (n,) in lengths(rng, 256):
        place = int(rng.integers(n))
        yield n, []
        yield n, [(place, -inf, -inf)]
        yield n, [(place, *bad[int(rng.integers(len(bad)))])]


exercise = Exercise(
    title="Repair a checker that praises NaN",
    reference=reference,
    rtol=2.0**-23,  # one subtraction of float32 numbers, rounded once
    atol=0.0,
    cases=(
        Case("600 elements, all finite", data(600), launch),
        Case("one element", data(1), launch),
        Case("got is NaN in one place", data(256, [(77, nan, 1.0)]), launch),
        Case("got is NaN throughout", data(5, [(i, nan, 1.0) for i in range(5)]), launch),
        Case("NaN is wanted, a number came", data(300, [(299, 1.0, nan)]), launch),
        Case("the same infinity on both sides", data(300, [(10, inf, inf), (299, -inf, -inf)]), launch),
        Case("others", data(400, [(398, nan, inf), (0, inf, inf)]), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}, {len(specials)} special", data(n, specials), launch) for n, specials in drawn(rng)],
    hints=(
        "If one of two numbers is NaN, fmaxf gives the other one. What should an element that is NaN count as, before it meets fmaxf?",
        "Take error = 0 where a == b (then infinities fit, too), else fabsf(a - b); where that isnan, make it infinity: __int_as_float(0x7f800000).",
    ),
)
