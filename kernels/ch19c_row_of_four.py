import numpy as np

from lanewise.exercise import Case, Exercise, Launch

d = 16


def data(shape=lambda Q: Q):
    """Q, K: (16, 16), fp16; P: (16, 16), LSE: (16), float32. `shape` edits Q."""

    def make(rng):
        Q, K = rng.standard_normal((16, d)), rng.standard_normal((16, d))
        out = {"P": np.empty((16, 16), np.float32), "LSE": np.empty(16, np.float32)}
        return {"Q": shape(Q).astype(np.float16), "K": K.astype(np.float16), **out, "scale": np.float32(d**-0.5)}

    return make


def each_row_its_size(Q):
    """Scores of row r up to 6 r or so, of either sign."""
    return Q * 3 * np.arange(16)[:, None]


def upper_rows_far_above(Q):
    """Rows 0 .. 7 have scores hundreds of times as large as rows 8 .. 15."""
    Q[:8] *= 100
    return Q


def reference(data):
    """P and LSE in float64."""
    S = float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T
    m = S.max(axis=1, keepdims=True)
    l = np.exp(S - m).sum(axis=1, keepdims=True)  # noqa: E741
    return {"P": np.exp(S - m) / l, "LSE": (m + np.log(l))[:, 0]}


launch = Launch(1, 32, "Q K P LSE scale")

exercise = Exercise(
    title="A row lies in four lanes",
    reference=reference,
    rtol=2e-5,
    atol=5e-4,  # scores of size 100 to 300: a tensor core may cut such a sum off at 2**-15, exp makes a relative error of an absolute one
    cases=(
        Case("random numbers", data(), launch),
        Case("each row of another size", data(each_row_its_size), launch),
        Case("upper rows far above", data(upper_rows_far_above), launch),
        Case("all scores 0", data(np.zeros_like), launch),
        Case("other numbers", data(lambda Q: 4 * Q), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"times {size}", data(lambda Q, size=size: size * Q), launch) for size in rng.integers(1, 20, 2).tolist()],
    hints=(
        "One maximum for all 16 queries, one sum for all: right for one long row, and here there are 16 of them. "
        "Which lanes hold a row, and which two rows does a lane hold?",
        "Each lane holds 4 elements of row `group` and 4 of row `group + 8`: two maxima, two sums. The lanes of a group differ in their last two bits: "
        "`__shfl_xor_sync` with 1 and with 2.",
    ),
)
