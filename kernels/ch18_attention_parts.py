import numpy as np

from lanewise.exercise import Case, Example, Launch

d = 32


def data(Nq, Nk, part=0, bf16=0):
    """Q, O: (Nq, 32), K, V: (Nk, 32), float32; V is positive, so that no output is next to 0."""

    def make(rng):
        Q, K = (rng.standard_normal((n, d), dtype=np.float32) for n in (Nq, Nk))
        sizes = {"Nk": np.int32(Nk), "scale": np.float32(d**-0.5), "part": np.int32(part), "bf16": np.int32(bf16)}
        return {"Q": Q, "K": K, "V": 1 + rng.random((Nk, d), dtype=np.float32), "O": np.empty((Nq, d), np.float32), **sizes}

    return make


def launch(data):
    return Launch(len(data["Q"]), 32, "Q K V O Nk scale part bf16")


def reference(data):
    """O in float64, nothing rounded."""
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    S = float(data["scale"]) * Q @ K.T
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return {"O": P @ V / P.sum(axis=1, keepdims=True)}


FP16, BF16 = 2.0**-11, 2.0**-8  # a rounding's largest relative error

example = Example(
    title="Attention with a part in 16 bits",
    reference=reference,
    atol=0.0,
    rtol=4e-6,  # 64 keys: sums in float32, and exp of scores of size 3
    cases=(
        Case("nothing", data(5, 64), launch),
        Case("fp16 inputs", data(5, 64, 1), launch, rtol=8 * FP16),  # scores of size 3 move by 2 roundings of themselves, V by one
        Case("fp16 scores", data(5, 64, 2), launch, rtol=4 * FP16),
        Case("fp16 weights", data(5, 64, 3), launch, rtol=2 * FP16),
        Case("fp16 sums", data(2, 64, 4), launch, rtol=64 * FP16),  # one rounding a key
        Case("bf16 weights", data(1, 32, 3, 1), launch, rtol=2 * BF16),
    ),
)
