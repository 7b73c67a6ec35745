import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, hard_rows


def data(Nq, Nk, shape=lambda x: x, keys=lambda x: x):
    """Q: (Nq, 64), K: (Nk, 64), fp16, top: (Nq), float32. `shape` makes other rows of Q, `keys` of K."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16),
        "K": keys(rng.standard_normal((Nk, 64), dtype=np.float32)).astype(np.float16),
        "top": np.empty(Nq, np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(ceil_div(len(data["Q"]), 64), 128, "Q K top Nq Nk")


loads = 4 * (4 + 320 // 16 * 4)  # ldmatrix: each of 4 warps, its queries once and all keys
exercise = Exercise(
    title="No conflicts, and not a byte to spare",
    reference=lambda data: {"top": (data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T).max(axis=1)},
    atol=5e-5,  # 64 exact products of size 1: a sum of 20 or so, rounded or cut off at each of 4 steps
    cases=(
        Case("64 queries, 320 keys", data(64, 320), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("ragged, every score below 0", data(70, 31, lambda x: -np.abs(x), np.abs), launch),
        Case("other numbers", data(63, 17), launch, visible=False),
    ),
    budget=Budget(
        "64 queries, 320 keys",
        f"{loads} ldmatrix with 4 passes each, and a pass stores 8 chunks of the 384 rows",
        shared_load_wavefronts=4 * loads,
        shared_store_wavefronts=384,
    ),
    variation=lambda rng: [
        Case(f"{n} queries, {m} keys", data(n, m, hard_rows(rng)), launch, atol=4e-3)  # elements up to 300, their products cancel
        for n, m in ((1, 1), (64 + int(rng.choice((-1, 1))), 16 + int(rng.choice((-1, 1)))), (66, int(rng.integers(290, 320))))
    ],
    budget_share=1.0,  # the skeleton's values are right
    hints=(
        "One of ldmatrix's matrices is the same chunk of eight rows, 128 bytes apart: eight times the same four banks. A longer row would help, but there are "
        "49,152 bytes, all taken. Can the chunks of a row trade places, in another way for each of eight rows?",
        "`chunk ^ row & 7`: for a row it is a permutation of 0 .. 7, and for a chunk it is different in 8 neighbouring rows.",
    ),
)
