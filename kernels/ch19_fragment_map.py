import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(rng):
    return {"A": np.empty((16, 16), np.int32), "B": np.empty((16, 8), np.int32), "C": np.empty((16, 8), np.int32)}


def reference(data):
    """PTX ISA 9.7.14.5.8, "Matrix Fragments for mma.m16n8k16 with floating point type": element (i, j) → lane + 32 * register."""
    i, j = np.indices((16, 16))
    A = i % 8 * 4 + j % 8 // 2 + 32 * (i // 8 + 2 * (j // 8))
    i, j = np.indices((16, 8))
    return {"A": A, "B": j * 4 + i % 8 // 2 + 32 * (i // 8), "C": i % 8 * 4 + j // 2 + 32 * (j % 2 + 2 * (i // 8))}


example = Example(
    title="Which lane holds which element",
    reference=reference,
    cases=(Case("one warp", data, Launch(1, 32, "A B C")),),
)
