import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, ceil_div, hard_rows


def data(Nq, shape=lambda x: x):
    """Q: (Nq, 64), K: (64, 64), S: (Nq, 64), fp16. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((64, 64), dtype=np.float32).astype(np.float16),
        "S": np.empty((Nq, 64), np.float16),
        "Nq": np.int32(Nq),
    }


def launch(data):
    return Launch(ceil_div(len(data["Q"]), 16), 32, "Q K S Nq")


def stored(says, to=lambda S: S, of=lambda Q, K: Q @ K.T):
    """A Slip: the elements of S (or of what `of` gives), moved by `to`."""

    def gives(data):
        n = len(data["Q"])
        Q = np.pad(data["Q"].astype(np.float64), [(0, -n % 16), (0, 0)])
        return {"S": to(of(Q, data["K"].astype(np.float64)))[:n]}

    return Slip(says, gives)


def exchanged(S):
    """Of every 16 x 16 numbers the upper right and the lower left 8 x 8 have changed places."""
    return S.reshape(-1, 2, 8, 4, 2, 8).transpose(0, 4, 2, 3, 1, 5).reshape(S.shape)


def unswizzled(S):
    """Chunk c of row r comes from place c ^ (r & 7)."""
    row, column = np.indices(S.shape)
    return S[row, (column // 8 ^ row % 8) * 8 + column % 8]


exercise = Exercise(
    title="From the fragments in whole rows",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    rtol=2.0**-11,  # S is rounded to fp16
    atol=5e-5,  # 64 exact products of size 1: a sum of 20 or so, rounded or cut off at each of 4 steps
    cases=(
        Case("16 queries", data(16), launch),
        Case("one query", data(1), launch),
        Case("17 queries", data(17), launch),
        Case("other numbers", data(15), launch, visible=False),
    ),
    budget=Budget(
        "16 queries",
        "16 rows of 128 bytes are 4 stores of 32 chunks; stmatrix stores 8 chunks a pass, as the loads of the 80 rows did",
        global_store_requests=4,
        global_store_sectors=64,
        shared_store_wavefronts=80 + 16,
        shared_load_wavefronts=80 + 16,
    ),
    slips=(
        stored(
            "Of every four matrices the second and the third have changed places: lanes 8 .. 15 name rows 8 .. 15 of the first chunk, so r[j][1] comes second.",
            exchanged,
        ),
        stored("S was stored with one layout and read with another: both take `place`.", unswizzled),
        stored("That is Q: what is read back isn't where S was stored.", of=lambda Q, K: Q),
    ),
    variation=lambda rng: [
        Case(f"{n} queries", data(n, hard_rows(rng)), launch, atol=4e-3)  # elements up to 300, their products cancel
        for n in (1, 16 + int(rng.choice((-1, 1))), 32 + int(rng.integers(2, 16)))
    ],
    budget_share=1.0,  # the skeleton's values are right
    hints=(
        "The pairs of a group's four lanes are one chunk of a row: stmatrix stores eight such chunks, and lane 8 m + i names where row i of matrix m goes. "
        "Which fragments make four matrices? Then a lane can write a whole chunk.",
        "`ptx::stmatrix_x4(at + place(lane % 16, j + lane / 16), r[j][0], r[j][1], r[j + 1][0], r[j + 1][1])` for j = 0, 2, 4, 6; `__syncwarp()`; then chunk p "
        "of the tile goes to chunk `first * 8 + p` of S.",
    ),
)
