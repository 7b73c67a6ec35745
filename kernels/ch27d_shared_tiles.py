import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K: (Nk, 64), fp16, energy: (Nq), float32. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "energy": np.empty(Nq, np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(2 * ceil_div(len(data["Q"]), 128), 128, (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (32, 64), "128B"), "energy", "Nq", "Nk"))


def first_half_twice(data):
    S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T
    return {"energy": 2 * (S[:, np.arange(S.shape[1]) % 64 < 32] ** 2).sum(axis=1)}


exercise = Exercise(
    title="Tiles that two blocks share",
    reference=lambda data: {"energy": ((data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T) ** 2).sum(axis=1)},
    rtol=1e-4,  # squares of scores that a tensor core sums in steps of 16
    cases=(
        Case("128 queries, five tiles", data(128, 320), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged, three tiles", data(70, 150), launch),
        Case("four blocks", data(130, 333), launch, visible=False),
    ),
    budget=Budget("128 queries, five tiles", "each tile comes from memory once for two blocks, the queries once", tma_load_bytes=2 * 8192 + 5 * 8192),
    budget_share=1.0,
    slips=(Slip("Of each tile the first 32 keys have come twice: block `rank` loads from key 64 * n + 32 * rank on.", first_half_twice),),
    variation=lambda rng: [
        Case(f"{nq} queries, {nk} keys", data(nq, nk, hard_rows(rng)), launch, rtol=1e-3)
        for nq, nk in [*lengths(rng, 64, 64), (140, 64 + int(rng.integers(2, 250)))]
    ],
    hints=(
        "The values are right; count the bytes. Each block loads its half (32 rows from 32 * rank on) with `tma_load_2d_multicast` to blocks "
        "0 and 1, mask 3. A block's "
        "`full` still sees a whole tile: two halves.",
        "A stage may be refilled when *both* blocks have read it: `empty` counts 2, and threads 0 and 1 arrive at block 0's and 1's with "
        "`mbarrier_arrive_cluster("
        "map_to_rank(empty + 8 * s, threadIdx.x))`. At the end `cluster_arrive(); cluster_wait();`.",
    ),
)
