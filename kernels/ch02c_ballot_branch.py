import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths


def data(n, low=-1.0, high=1.0):
    """x: n float32 between low and high; rank: n int32."""
    return lambda rng: {"x": rng.uniform(low, high, n).astype(np.float32), "rank": np.empty(n, np.int32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["rank"].size, 128), 128, "x rank n")


def reference(data):
    n = data["x"].size
    positive = np.zeros(ceil_div(n, 32) * 32, np.int64)
    positive[:n] = data["x"] > 0
    warps = positive.reshape(-1, 32)
    ranks = [np.cumsum(kind, axis=1) - kind for kind in (warps, 1 - warps)]
    return {"rank": np.where(warps == 1, ranks[0], ranks[1]).reshape(-1)[:n]}


exercise = Exercise(
    title="Repair a ballot that not everyone attends",
    reference=reference,
    cases=(
        Case("n = 256", data(256), launch),
        Case("one element", data(1, 1.0, 2.0), launch),
        Case("all positive", data(128, 1.0, 2.0), launch),
        Case("none positive", data(128, -2.0, -1.0), launch),
        Case("n = 1000", data(1000), launch),
        Case("one more than a warp", data(33), launch),
        Case("another length", data(77), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "The mask 0xffffffff says: all 32 lanes come to this very line. Which lanes come to the first ballot, which to the second?",
        "Ask first, for all lanes: `const bool positive = i < n && x[i] > 0.0f;`, then vote on that outside every `if`. The other kind is `~votes`.",
    ),
)
