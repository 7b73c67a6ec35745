import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, hard_rows


def data(heads, Nk, shape=lambda x: x):
    """q: (heads, 32), K: (heads, Nk, 32), s: (heads, Nk), float32. `shape` makes other keys."""
    return lambda rng: {
        "q": rng.standard_normal((heads, 32), dtype=np.float32),
        "K": shape(rng.standard_normal((heads, Nk, 32), dtype=np.float32)),
        "s": np.empty((heads, Nk), np.float32),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(len(data["q"]), 64, "q K s Nk")


def tile_before(data):
    """s if every tile but the first is computed from the keys of the tile before."""
    K, Nk = data["K"].astype(np.float64), data["K"].shape[1]
    key = np.arange(Nk)
    return {"s": np.einsum("hd,hnd->hn", data["q"].astype(np.float64), K[:, np.where(key < 64, key, key - 64)])}


exercise = Exercise(
    title="Two stages",
    reference=lambda data: {"s": np.einsum("hd,hnd->hn", data["q"].astype(np.float64), data["K"].astype(np.float64))},
    atol=1e-5,  # 32 products of size 1: a sum of 10 or 20, and float32 keeps 6e-8 of it at each step
    cases=(
        Case("three tiles", data(2, 192), launch),
        Case("one key", data(1, 1), launch),
        Case("one more than a tile", data(1, 65), launch),
        Case("other numbers", data(1, 127), launch, visible=False),
    ),
    budget=Budget("three tiles", "one barrier a tile, two heads; chunks go past the registers", barriers=6, shared_store_requests=0),
    slips=(Slip("Each tile but the first has the keys of the one before: while tile t is in use, tile t + 1 is copied.", tile_before),),
    variation=lambda rng: [
        Case(f"{n} keys", data(1, n, hard_rows(rng)), launch, atol=2e-3)  # elements up to 300, their products cancel
        for n in (1, 64 + int(rng.choice((-1, 1))), 128 + int(rng.integers(2, 60)))
    ],
    hints=(
        "Three things in the loop, in this order: who waits for what? What does the barrier then say, about tile t and about tile t - 1? And which "
        "stage is free "
        "after that?",
        "Before: `copy(0, 0); cp_async_commit();`. In the loop: `cp_async_wait<0>(); __syncthreads(); if (t + 1 < tiles) copy(t + 1, (t + 1) % 2); "
        "cp_async_commit();`, all in namespace ptx.",
    ),
)
