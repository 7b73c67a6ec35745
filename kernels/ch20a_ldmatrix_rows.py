import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, hard_rows


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
    variation=lambda rng: [
        Case(f"{n} queries", data(n, hard_rows(rng)), launch, atol=4e-3)  # elements up to 300, their products cancel
        for n in (1, 16 + int(rng.choice((-1, 1))), 32 + int(rng.integers(2, 16)))
    ],
    hints=(
        "Lanes 0 to 7 name the rows of the first matrix, lanes 8 to 15 those of the second. Write down for each of a[0] to a[3] its first row and column.",
        "Q: row `lane % 16`, column `k + lane / 16 * 8`. K: row `16 * j + lane / 16 * 8 + lane % 8`, column `k + lane / 8 % 2 * 8`.",
    ),
)
