import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, hard_rows


def data(heads, N, shape=lambda x: x):
    """V, out: (heads, N, 64), float32. `shape` makes other rows."""
    return lambda rng: {
        "V": shape(rng.standard_normal((heads, N, 64), dtype=np.float32)),
        "out": np.empty((heads, N, 64), np.float32),
        "N": np.int32(N),
    }


def launch(data):
    return Launch(len(data["V"]), 64, "V out N")


def reference(data):
    """The mean of each row and those beside it, in float64."""
    V = data["V"].astype(np.float64)
    padded = np.pad(V, ((0, 0), (1, 1), (0, 0)))
    count = np.pad(np.ones(V.shape[1]), 1)
    return {"out": (padded[:, :-2] + V + padded[:, 2:]) / (count[:-2] + 1 + count[2:])[:, None]}


exercise = Exercise(
    title="Who has waited?",
    reference=reference,
    rtol=1e-6,
    atol=1e-6,  # three numbers of size 1 to 4
    cases=(
        Case("four tiles", data(2, 32), launch),
        Case("one row", data(1, 1), launch),
        Case("one more than a tile", data(1, 9), launch),
        Case("other numbers", data(1, 39), launch, visible=False),
    ),
    budget=Budget("four tiles", "one barrier a tile, two heads", barriers=8),
    variation=lambda rng: [
        Case(f"{n} rows", data(1, n, hard_rows(rng)), launch, atol=1e-4)  # elements up to 300
        for n in (1, 8 + int(rng.choice((-1, 1))), 24 + int(rng.integers(2, 14)))
    ],
    hints=(
        "A wait concerns the groups of the thread that waits. My column's numbers came with chunks that other threads copied: who tells me that *they* "
        "have waited? "
        "And by when must tile t - 2 be out of use?",
        "`ptx::cp_async_wait<0>(); __syncthreads();` and only then `copy(t + 2)` with its commit.",
    ),
)
