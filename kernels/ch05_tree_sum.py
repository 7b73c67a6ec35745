import numpy as np

from lanewise.exercise import Budget, Case, Example, Launch, ceil_div


def data(n):
    """x: (n), part: (blocks of 256), float32."""
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "part": np.empty(ceil_div(n, 256), np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(data["part"].size, 256, "x part n")


def reference(data):
    blocks = np.zeros((data["part"].size, 256))
    blocks.reshape(-1)[: data["x"].size] = data["x"]
    return {"part": blocks.sum(axis=1)}


example = Example(
    title="A block's sum, by halves in shared memory",
    reference=reference,
    atol=1e-5,  # 8 additions deep; the sums reach 50 or so, and float32 keeps 6e-8 of them
    cases=(
        Case("four blocks", data(1024), launch),
        Case("one element", data(1), launch),
        Case("one more than a block", data(257), launch),
        Case("a ragged end", data(1000), launch),
    ),
    budget=Budget("four blocks", "one barrier after filling, one after each of 8 levels", barriers=4 * 9),
)
