import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, TensorMap, lengths


def data(N):
    """a: (N), b: (64), float32, O: (N, 64), fp16."""
    return lambda rng: {
        "a": rng.standard_normal(N, dtype=np.float32),
        "b": rng.standard_normal(64, dtype=np.float32),
        "O": np.empty((N, 64), np.float16),
        "N": np.int32(N),
    }


launch = Launch(2, 128, ("a", "b", "O", TensorMap("O", (64, 64), "128B"), "N"))

exercise = Exercise(
    title="Tiles that the copy engine stores",
    reference=lambda data: {"O": np.outer(data["a"].astype(np.float64), data["b"].astype(np.float64))},
    rtol=2.0**-10,  # rounded to fp16
    cases=(
        Case("six tiles, two blocks", data(384), launch),
        Case("one row", data(1), launch),
        Case("five tiles, ragged", data(290), launch),
        Case("three tiles", data(140), launch, visible=False),
    ),
    budget=Budget("six tiles, two blocks", "a tile is one box; threads store nothing to global memory", tma_requests=6, global_store_requests=0),
    budget_share=1.0,
    variation=lambda rng: [Case(f"{n} rows", data(n), launch) for n in [n for (n,) in lengths(rng, 64)] + [256 + int(rng.integers(1, 250))]],
    hints=(
        "Five steps: nobody still reads Os; all write it; each makes what it wrote visible to the copy engine; all are done; one thread stores and commits.",
        "`if (threadIdx.x == 0) ptx::bulk_wait_read<0>(); __syncthreads(); panel_to_shared<__half>(at, c, 0); ptx::fence_proxy_async(); "
        "__syncthreads();` then thread 0: "
        "`tma_store_2d(&Om, at, 0, 64 * tile)`, `bulk_commit()`. After the loop it waits with `bulk_wait<0>()`.",
    ),
)
