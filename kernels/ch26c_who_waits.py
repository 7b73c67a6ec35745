import numpy as np

from lanewise.exercise import Case, Exercise, Launch, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K: (Nk, 64), fp16, S: (Nq, Nk), float32. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 64), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "S": np.empty((Nq, Nk), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(0.18),
    }


def launch(data):
    return Launch(ceil_div(len(data["Q"]), 64), 128, (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (64, 64), "128B"), "S", "Nq", "Nk", "scale"))


def reference(data):
    """Q is scaled in float32 and rounded to fp16, as the kernel's contract says."""
    Q = (data["scale"] * data["Q"].astype(np.float32)).astype(np.float16)
    return {"S": Q.astype(np.float64) @ data["K"].astype(np.float64).T}


exercise = Exercise(
    title="Who waits for whom?",
    reference=reference,
    atol=5e-5,  # 64 exact products of size 1/4, cut off at each of 4 steps
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged, four tiles of keys", data(33, 250), launch),
        Case("other numbers", data(65, 129), launch, visible=False),
    ),
    variation=lambda rng: [
        Case(f"{n} queries, {m} keys", data(n, m, hard_rows(rng)), launch, atol=5e-3)  # elements up to 300, their products cancel
        for n, m in lengths(rng, 64, 64)
    ],
    hints=(
        "Three things are missing: shared memory written by threads becomes visible to wgmma, registers may be written by wgmma, and the sums are there. Each "
        "has its instruction.",
        "`ptx::fence_proxy_async()` by every thread before the barrier, `ptx::wgmma_fence()` before the first wgmma of a tile, "
        "`ptx::wgmma_wait<0>()` before s is read.",
    ),
)
