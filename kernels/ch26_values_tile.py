import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, TensorMap, ceil_div


def data(Nq, Nk):
    """P: (Nq, 64), float32, weights of Nk keys, V: (Nk, 64), fp16, O: (Nq, 64), float32."""

    def make(rng):
        P = rng.uniform(0, 1, (Nq, 64)).astype(np.float32)
        P[:, Nk:] = 0
        V = rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16)
        return {"P": P, "V": V, "O": np.empty((Nq, 64), np.float32), "Nq": np.int32(Nq)}

    return make


def launch(data):
    return Launch(ceil_div(len(data["P"]), 64), 128, ("P", TensorMap("V", (64, 64), "128B"), "O", "Nq"))


def reference(data):
    """P is rounded to fp16, as the kernel's contract says."""
    P, V = data["P"].astype(np.float16).astype(np.float64), data["V"].astype(np.float64)
    return {"O": P[:, : len(V)] @ V}


example = Example(
    title="A tile of weights times values by wgmma, the weights in registers",
    reference=reference,
    atol=1e-4,  # 64 exact products of size 1, cut off at each of 4 steps
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged", data(65, 63), launch),
    ),
    budget=Budget("64 queries, 64 keys", "four instructions, and P is never in shared memory", wgmma_instructions=4, flops=2 * 64**3, shared_store_requests=0),
)
