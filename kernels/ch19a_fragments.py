import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip


def data(K, numbers=lambda rng, shape: rng.standard_normal(shape)):
    """A: (16, K), B: (K, 8), fp16; C: (16, 8), float32; K is a multiple of 16."""
    return lambda rng: {
        "A": numbers(rng, (16, K)).astype(np.float16),
        "B": numbers(rng, (K, 8)).astype(np.float16),
        "C": np.empty((16, 8), np.float32),
        "K": np.int32(K),
    }


def steps_times_one(rng, shape):
    """A counts its elements, B is the unit matrix: C is the left half of A."""
    return np.arange(256).reshape(shape) if shape[0] == 16 and shape[1] == 16 else np.eye(*shape)


launch = Launch(1, 32, "A B C K")


def a_place(lane, r, half):
    return lane // 4 + r % 2 * 8, lane % 4 * 2 + r // 2 * 8 + half


def b_place(lane, r, half):
    return lane % 4 * 2 + half + r * 8, lane // 4


def c_place(lane, e):
    return lane // 4 + e // 2 * 8, lane % 4 * 2 + e % 2


def placed(says, a=a_place, b=b_place, c=c_place, moves=True):
    """A Slip: C if a lane takes its elements of A and B from these rows and columns, and puts those of C there. `moves`: A's columns move on with the steps."""
    lane, r, half = np.ogrid[:32, :4, :2]

    def gives(data):
        A, B = data["A"].astype(np.float64), data["B"].astype(np.float64)
        total = np.zeros((16, 8))
        for start in range(0, A.shape[1], 16):
            held_a, held_b = np.empty((16, 16)), np.empty((16, 8))
            held_a[a_place(lane, r, half)] = A[:, start if moves else 0 :][a(lane, r, half)]
            held_b[b_place(lane, r[:, :2], half)] = B[start : start + 16][b(lane, r[:, :2], half)]
            total += held_a @ held_b
        C = np.full((16, 8), np.nan)
        C[c(lane[..., 0], r[..., 0])] = total[c_place(lane[..., 0], r[..., 0])]
        return {"C": C}

    return Slip(says, gives)


exercise = Exercise(
    title="Load the fragments by hand",
    reference=lambda data: {"C": data["A"].astype(np.float64) @ data["B"]},
    atol=2e-4,  # exact products, up to 96 of size 1 or a few hundred once: a tensor core may cut a sum of 256 off at 2**-15
    cases=(
        Case("A counts, B is the unit matrix", data(16, steps_times_one), launch),
        Case("random numbers", data(16), launch),
        Case("three steps", data(48), launch),
        Case("other numbers", data(32), launch, visible=False),
    ),
    slips=(
        placed(
            "A's registers 1 and 2 have changed places: register 1 is 8 rows further down, register 2 is 8 columns further on.",
            a=lambda lane, r, half: (lane // 4 + r // 2 * 8, lane % 4 * 2 + r % 2 * 8 + half),
        ),
        placed(
            "The halves of the pairs have changed places, in A or in B: .x, the low half, comes first along the summed direction.",
            a=lambda lane, r, half: a_place(lane, r, 1 - half),
        ),
        placed(
            "B's pairs go across, but the summed direction is down: a pair of B is two rows of one column.",
            b=lambda lane, r, half: np.divmod((lane % 4 * 2 + r * 8) * 8 + lane // 4 + half, 8),
        ),
        placed("B's registers have changed places: register 1 is 8 rows further down.", b=lambda lane, r, half: b_place(lane, 1 - r, half)),
        placed(
            "Lanes are counted by columns of the fragment: four neighbouring lanes share a row of A, so the row is lane / 4 and the pair lane % 4.",
            a=lambda lane, r, half: (lane % 8 + r % 2 * 8, lane // 8 * 2 + r // 2 * 8 + half),
            b=lambda lane, r, half: (lane // 8 * 2 + half + r * 8, lane % 8),
            c=lambda lane, e: (lane % 8 + e // 2 * 8, lane // 8 * 2 + e % 2),
        ),
        placed(
            "A and B are right; C's rows went to 2 group and 2 group + 1: a lane's second row is 8 further down.",
            c=lambda lane, e: (lane // 4 * 2 + e // 2, lane % 4 * 2 + e % 2),
        ),
        placed(
            "A and B are right; C's pairs were stored down: c[0] and c[1] are neighbours in a row, c[2] and c[3] those 8 rows further down.",
            c=lambda lane, e: (lane // 4 + e % 2 * 8, lane % 4 * 2 + e // 2),
        ),
        placed("A's columns stay at the first 16: they begin at `start`.", moves=False),
        placed(
            "Each lane has taken its pairs one behind the other from memory: its registers lie 8 rows or columns apart, and lane % 4 says which pair.",
            a=lambda lane, r, half: ((lane * 4 + r) // 8, (lane * 4 + r) % 8 * 2 + half),
            b=lambda lane, r, half: np.divmod(lane * 4 + r * 2 + half, 8),
            c=lambda lane, e: np.divmod(lane * 4 + e, 8),
        ),
    ),
    variation=lambda rng: [Case(f"{steps} steps", data(16 * steps), launch) for steps in (1, int(rng.integers(2, 7)))],
    hints=(
        "Take one lane, say 5: group 1, pair 2. Its register 0 of A holds row 1, columns 2 and 3; register 1 row 9; register 2 columns 10 and 11. "
        "Where do they lie in memory?",
        "A: row `group + r % 2 * 8`, column `start + pair + r / 2 * 8` and the next. B: rows `start + pair + r * 8` and the next, column `group`. "
        "C: row `group + e / 2 * 8`, column `pair + e % 2`.",
    ),
)
