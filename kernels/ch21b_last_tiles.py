import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, hard_rows


def data(heads, Nk, shape=lambda x: x):
    """q: (heads, 32), K: (heads, Nk, 32), top: (heads), float32. `shape` makes other keys."""
    return lambda rng: {
        "q": rng.standard_normal((heads, 32), dtype=np.float32),
        "K": shape(rng.standard_normal((heads, Nk, 32), dtype=np.float32)),
        "top": np.empty(heads, np.float32),
        "Nk": np.int32(Nk),
    }


def largest_last(K):
    """Every key larger than the one before: the largest score lies in the last tile."""
    return K[:, :1] * np.arange(1, K.shape[1] + 1, dtype=np.float32)[:, None] / 16


def launch(data):
    return Launch(len(data["q"]), 64, "q K top Nk")


exercise = Exercise(
    title="The last tiles",
    reference=lambda data: {"top": np.einsum("hd,hnd->hn", data["q"].astype(np.float64), data["K"].astype(np.float64)).max(axis=1)},
    rtol=1e-5,
    atol=2e-5,  # 32 products of size 1 or so: a sum of 10 or 20, and float32 keeps 6e-8 of it at each step
    cases=(
        Case("five tiles", data(2, 320), launch),
        Case("one key", data(1, 1), launch),
        Case("two tiles", data(1, 65, largest_last), launch),
        Case("other numbers", data(1, 190, largest_last), launch, visible=False),
    ),
    budget=Budget("five tiles", "one barrier a tile, and one for the two warps, two heads", barriers=12),
    variation=lambda rng: [
        Case(f"{n} keys", data(1, n, shape), launch, atol=2e-3)  # elements up to 300, their products cancel
        for n, shape in ((1, hard_rows(rng)), (64 + int(rng.choice((-1, 1))), hard_rows(rng)), (128 + int(rng.integers(2, 60)), largest_last))
    ],
    hints=(
        "wait<n> leaves the n latest groups under way. How many may be under way when tile t is to be read, and how many groups are there for the last "
        "two tiles, "
        "if a group is closed only where there was something to copy?",
        "`ptx::cp_async_wait<1>(); __syncthreads();`, then `if (t + 2 < tiles) copy(t + 2);` and the commit outside of the `if`.",
    ),
)
