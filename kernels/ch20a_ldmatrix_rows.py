import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, ceil_div, hard_rows


def data(Nq, shape=lambda x: x):
    """Q: (Nq, 64), K: (64, 64), fp16, S: (Nq, 64), float32. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((64, 64), dtype=np.float32).astype(np.float16),
        "S": np.empty((Nq, 64), np.float32),
        "Nq": np.int32(Nq),
    }


def launch(data):
    return Launch(ceil_div(len(data["Q"]), 16), 32, "Q K S Nq")


def blocks(X):
    """X as (rows of 16, upper or lower 8, row, columns of 16, left or right 8, column)."""
    return X.reshape(len(X) // 16, 2, 8, X.shape[1] // 16, 2, 8)


def exchanged(X):
    """Of every 16 x 16 numbers the upper right and the lower left 8 x 8 have changed places."""
    return blocks(X).transpose(0, 4, 2, 3, 1, 5).reshape(X.shape)


def turned(X):
    """Every 8 x 8 numbers transposed in its place."""
    return blocks(X).transpose(0, 1, 5, 3, 4, 2).reshape(X.shape)


def read(says, Q_as=lambda Q: Q, K_as=lambda K: K):
    """A Slip: S from Q and K as ldmatrix read them."""

    def gives(data):
        n = len(data["Q"])
        Q = np.pad(data["Q"].astype(np.float64), [(0, -n % 16), (0, 0)])
        return {"S": (Q_as(Q) @ K_as(data["K"].astype(np.float64)).T)[:n]}

    return Slip(says, gives)


def first_columns(X):
    return np.tile(X[:, :16], 4)


NAMES = "Lanes 0 to 7 name the rows of the first matrix, 8 to 15 those of the second, and so on."

exercise = Exercise(
    title="Which row a lane names",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    atol=5e-5,  # 64 exact products of size 1: a sum of 20 or so, rounded or cut off at each of 4 steps
    cases=(
        Case("16 queries", data(16), launch),
        Case("one query", data(1), launch),
        Case("17 queries", data(17), launch),
        Case("other numbers", data(15), launch, visible=False),
    ),
    budget=Budget("16 queries", "5 ldmatrix a step, 4 steps, 4 passes each, and no word by hand", shared_load_wavefronts=80, shared_load_requests=0),
    slips=(
        read("Q's columns never move on: a step begins at column k.", Q_as=first_columns),
        read("K's columns never move on: a step begins at column k.", K_as=first_columns),
        read("Neither Q's columns nor K's move on: a step begins at column k.", first_columns, first_columns),
        read(f"Of Q the second and the third matrix have changed places: a[1] is rows 8 .. 15, a[2] columns k + 8 and on. {NAMES}", Q_as=exchanged),
        read(f"Of K the second and the third matrix have changed places: b[1] is columns k + 8 and on, b[2] keys 8 and on. {NAMES}", K_as=exchanged),
        read(
            f"Of both the second and the third matrix have changed places: the order of a[0] to a[3] isn't that of b[0] to b[3]. {NAMES}", exchanged, exchanged
        ),
        read("All keys are the first 16: keys begin at 16 * j.", K_as=lambda K: np.tile(K[:16], (4, 1))),
        read("K was turned over on the way: its rows are keys, and B wants pairs along a row, so without .trans.", K_as=turned),
        read("Q was turned over on the way: A wants pairs along a row, so without .trans.", Q_as=turned),
    ),
    variation=lambda rng: [
        Case(f"{n} queries", data(n, hard_rows(rng)), launch, atol=4e-3)  # elements up to 300, their products cancel
        for n in (1, 16 + int(rng.choice((-1, 1))), 32 + int(rng.integers(2, 16)))
    ],
    hints=(
        "Lanes 0 to 7 name the rows of the first matrix, lanes 8 to 15 those of the second. Write down for each of a[0] to a[3] its first row and column.",
        "Q: row `lane % 16`, column `k + lane / 16 * 8`. K: row `16 * j + lane / 16 * 8 + lane % 8`, column `k + lane / 8 % 2 * 8`.",
    ),
)
