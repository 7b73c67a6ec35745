import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(Nk, d=64, shape=lambda x: x):
    """V: (Nk, d), fp16, p: (Nk), float32, O: (blocks, d), float32. `shape` makes other rows of V."""
    return lambda rng: {
        "V": shape(rng.standard_normal((Nk, d), dtype=np.float32)).astype(np.float16),
        "p": rng.uniform(0, 1, Nk).astype(np.float32),
        "O": np.empty((ceil_div(Nk, 64), d), np.float32),
        "Nk": np.int32(Nk),
        "d": np.int32(d),
    }


def launch(data):
    return Launch(len(data["O"]), 64, (TensorMap("V", (64, 64)), "p", "O", "Nk", "d"))


def reference(data):
    """Each block's 64 keys, in float64."""
    products = data["p"].astype(np.float64)[:, None] * data["V"].astype(np.float64)
    return {"O": np.stack([products[first : first + 64].sum(axis=0) for first in range(0, len(products), 64)])}


def across(data):
    """O if a block's box begins at column `first` of row 0: but for the first block there is nothing there but zeros."""
    O = reference(data)["O"]  # noqa: E741
    O[1:] = 0
    return {"O": O}


exercise = Exercise(
    title="A tile that the copy engine brings",
    reference=reference,
    atol=2e-5,  # 64 products of size 1, each sum rounded
    cases=(
        Case("64 rows", data(64), launch),
        Case("one row", data(1), launch),
        Case("65 rows, 40 columns", data(65, 40), launch),
        Case("other shapes", data(130, 8), launch, visible=False),
    ),
    slips=(
        Slip(
            "From the second block on the tile was 0: coordinates count columns first, so the box begins at 0, first. Outside the map TMA fills zeros in.",
            across,
        ),
    ),
    variation=lambda rng: [
        Case(f"{n} rows", data(n, int(8 * rng.integers(1, 9)), hard_rows(rng)), launch, atol=4e-3)  # elements up to 300, their products cancel
        for (n,) in lengths(rng, 64)
    ],
    hints=(
        "One thread arrives, once. The bytes are counted apart from the arrivals: they must be announced, and how many come is the same for every box.",
        "`mbarrier_init(bar, 1)`, `fence_mbarrier_init()`, `mbarrier_arrive_expect_tx(bar, sizeof(tile))`, `tma_load_2d(at, &Vm, bar, 0, first)`: the "
        "coordinate along a row comes first.",
    ),
    budget=Budget("64 rows", "the tile costs the threads no load: each reads 64 numbers of p, all lanes the same", global_load_requests=128),
)
