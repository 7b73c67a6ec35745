import numpy as np

from lanewise.exercise import Case, Example, Launch


def data(threads):
    """lane, warp: int32, one for each thread of the block."""
    return lambda rng: {"lane": np.empty(threads, np.int32), "warp": np.empty(threads, np.int32)}


def reference(data):
    t = np.arange(data["lane"].size)
    return {"lane": t % 32, "warp": t // 32}


example = Example(
    title="Lane and warp of every thread of a block",
    reference=reference,
    cases=(
        Case("one thread", data(1), Launch(1, 1, "lane warp")),
        Case("three warps", data(96), Launch(1, 96, "lane warp")),
        Case("a warp that isn't full", data(100), Launch(1, 100, "lane warp")),
        Case("the largest block", data(1024), Launch(1, 1024, "lane warp")),
    ),
)
