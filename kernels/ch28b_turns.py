import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch


def data(steps):
    """x: (steps, 384), sums: (3), float32, order: (3 steps), int32."""
    return lambda rng: {
        "x": rng.standard_normal((steps, 384), dtype=np.float32),
        "order": np.empty(3 * steps, np.int32),
        "sums": np.empty(3, np.float32),
        "steps": np.int32(steps),
    }


def reference(data):
    """Turns 0, 1, 2, 0, 1, 2, ..; the sums in float64."""
    x = data["x"].astype(np.float64)
    return {"order": np.tile(np.arange(3, dtype=np.int32), len(x)), "sums": np.exp(x).reshape(len(x), 3, 128).sum(axis=(0, 2))}


launch = Launch(1, 384, "x order sums steps")

exercise = Exercise(
    title="Repair: turns, not a crowd",
    reference=reference,
    rtol=1e-5,
    cases=(
        Case("four turns each", data(4), launch),
        Case("one turn each", data(1), launch),
        Case("nine turns each", data(9), launch, visible=False),
    ),
    budget=Budget(
        "four turns each",
        "12 turns, and 3 times a warpgroup's own: barriers that hold all three come on top",
        barriers=12 + 3,
    ),
    variation=lambda rng: [Case(f"{steps} turns each", data(int(steps)), launch) for steps in rng.integers(2, 12, 3)],
    hints=(
        "A turn needs a barrier of its own, at which the one whose turn it is waits and the one before arrives without waiting. And before "
        "the first turn somebody "
        "must have arrived for warpgroup 0.",
        "`named_barrier_sync(1 + w, 256)`, the turn, `named_barrier_arrive(1 + (w + 1) % groups, 256)`; before the loop the last warpgroup "
        "arrives at barrier 1.",
    ),
)
