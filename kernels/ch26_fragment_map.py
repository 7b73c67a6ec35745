import numpy as np

from lanewise.exercise import Case, Example, Launch, TensorMap


def data(rng):
    """A, B: (64, 64), fp16, such that (A B^T)[i, j] = 64 i + j; D: (128, 32), float32."""
    A, B = np.zeros((2, 64, 64), np.float16)
    A[:, 0], A[:, 1] = np.arange(64), 1
    B[:, 0], B[:, 1] = 64, np.arange(64)
    return {"A": A, "B": B, "D": np.empty((128, 32), np.float32)}


def reference(data):
    """Thread t's register i: row 16 (t / 32) + t % 32 / 4, 8 more where i / 2 is odd; column 8 (i / 4) + 2 (t % 4) + i % 2. (PTX ISA, wgmma: D fragments)"""
    t, i = np.arange(128)[:, None], np.arange(32)
    rows = t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8
    columns = i // 4 * 8 + t % 4 * 2 + i % 2
    return {"D": (data["A"].astype(np.float64) @ data["B"].astype(np.float64).T)[rows, columns]}


example = Example(
    title="Which thread holds which element of D",
    reference=reference,
    rtol=0,
    atol=0,  # whole numbers below 4096
    cases=(Case("a tile", data, Launch(1, 128, (TensorMap("A", (64, 64), "128B"), TensorMap("B", (64, 64), "128B"), "D"))),),
)
