import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 128), K: (Nk, 128), fp16, S: (Nq, Nk), float32. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 128), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((Nk, 128), dtype=np.float32).astype(np.float16),
        "S": np.empty((Nq, Nk), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    Nq, Nk = data["S"].shape
    return Launch((ceil_div(Nk, 64), ceil_div(Nq, 64)), 128, (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (64, 64), "128B"), "S", "Nq", "Nk"))


exercise = Exercise(
    title="What wgmma is told of a tile",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    atol=2e-4,  # 128 exact products of size 1: a sum of 30 or so, cut off at each of 8 steps
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged", data(65, 63), launch),
        Case("other numbers", data(30, 70), launch, visible=False),
    ),
    budget=Budget("64 queries, 64 keys", "128 columns are 8 steps of 16", wgmma_instructions=8),
    variation=lambda rng: [
        Case(f"{n} queries, {m} keys", data(n, m, hard_rows(rng)), launch, atol=2e-2)  # elements up to 300, their products cancel
        for n, m in lengths(rng, 64, 64)
    ],
    hints=(
        "A row of a panel has 128 bytes, so 8 rows have 1024: that is the distance of the groups. A step of 16 columns is 32 bytes, and after four steps the "
        "panel is used up.",
        "`(at >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62`, and a step begins at `step / 4 * panel + step % 4 * 32`.",
    ),
)
