import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip

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

LANE_OF = np.arange(16) % 8 // 2  # of a group's four lanes the one that holds a column


def softmax(says, m_of=None, l_of=None, place=None, LSE_of=lambda m, sum, scale: m + np.log(sum)):
    """A Slip: the softmax with a maximum of m_of(S), a sum of l_of(E), each to be taken element by element; row r goes to place[r]; only LSE where LSE_of
    is given."""

    def gives(data):
        scale = float(data["scale"])
        S = scale * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T
        m = np.broadcast_to((m_of or rows)(S, np.max), S.shape)
        E = np.exp(S - m)
        l = np.broadcast_to((l_of or rows)(E, np.sum), S.shape)  # noqa: E741
        order = np.arange(16) if place is None else np.argsort(place)
        return {"P": (E / l)[order], "LSE": LSE_of(m[:, 0], l[:, 0], scale)[order]}

    return Slip(says, gives)


def rows(x, what):
    return what(x, axis=1, keepdims=True)


def all_lanes(x, what):
    """Over the eight rows that a shuffle through all lanes joins: those 0 to 7, those 8 to 15."""
    return np.repeat(what(x.reshape(2, -1), axis=1), 8)[:, None]


def everything(x, what):
    return what(x)


def own_columns(x, what):
    """What a lane finds in its own four elements of a row."""
    return np.stack([what(x[:, LANE_OF == lane], axis=1) for lane in LANE_OF], axis=1)


def two_lanes(x, what):
    return np.stack([what(x[:, LANE_OF // 2 == lane // 2], axis=1) for lane in LANE_OF], axis=1)


def columns(x, what):
    """Over the lanes whose number differs in the bits 4, 8, 16: eight rows, the lane's own columns."""
    mine = own_columns(x, what)
    return np.repeat(what(mine.reshape(2, 8, 16), axis=1), 8, axis=0)


FOUR = "A row lies in the four lanes of a group, whose numbers differ in their last two bits: shuffle with 1 and with 2."

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
    slips=(
        softmax(f"That is one maximum and one sum for all 16 rows. {FOUR}", m_of=everything, l_of=everything),
        softmax(f"The maximum is right, and the sum is one of eight rows. {FOUR}", l_of=all_lanes),
        softmax(f"The maximum is right, and the sum goes down the rows, over lanes that hold the same columns. {FOUR}", l_of=columns),
        softmax(f"The maximum is right, and the sum is one of two lanes, half of the row. {FOUR}", l_of=two_lanes),
        softmax(f"Every lane subtracts a maximum of its own, and then they add up. {FOUR}", m_of=own_columns),
        softmax("P is right, and its rows went to 2 group and 2 group + 1: a lane's second row is group + 8.", place=[r % 8 * 2 + r // 8 for r in range(16)]),
        softmax(
            "P is right, and LSE is log(l) + m: m is the largest score before scale, so LSE is scale m + log(l).",
            LSE_of=lambda m, sum, scale: m / scale + np.log(sum),
        ),
    ),
    variation=lambda rng: [Case(f"times {size}", data(lambda Q, size=size: size * Q), launch) for size in rng.integers(1, 20, 2).tolist()],
    hints=(
        "One maximum for all 16 queries, one sum for all: right for one long row, and here there are 16 of them. "
        "Which lanes hold a row, and which two rows does a lane hold?",
        "Each lane holds 4 elements of row `group` and 4 of row `group + 8`: two maxima, two sums. The lanes of a group differ in their last two bits: "
        "`__shfl_xor_sync` with 1 and with 2.",
    ),
)
