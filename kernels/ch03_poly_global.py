import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div

COEFFICIENTS = (1.0, -0.5, 0.25, -0.125)


def data(n):
    """x, y: n float32."""
    return lambda rng: {"c": np.array(COEFFICIENTS, np.float32), "x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["x"].size, 256), 256, "c x y n")


example = Example(
    title="A polynomial with its coefficients in global memory",
    reference=lambda data: {"y": np.polynomial.polynomial.polyval(data["x"].astype(np.float64), COEFFICIENTS)},
    cases=(Case("one block", data(256), launch), Case("one element", data(1), launch), Case("a ragged end", data(300), launch)),
    budget=Budget("one block", "8 warps, one request for x and one for each coefficient", global_load_requests=8 * 5),
)
