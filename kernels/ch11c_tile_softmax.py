import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Trace, ceil_div, hard_scores, lengths

Bc = 16  # keys of a tile


def data(Nq, Nk, change=lambda given: None):
    """Q, O: (Nq, 8), K, V: (Nk, 8), float32; no trace. `change` edits the dict of inputs."""

    def make(rng):
        given = {name: rng.standard_normal((n, 8), dtype=np.float32) for name, n in (("Q", Nq), ("K", Nk), ("V", Nk))}
        change(given)
        rest = {"Nq": np.int32(Nq), "Nk": np.int32(Nk), "scale": np.float32(8**-0.5), "trace": np.uintp(0)}
        return given | {"O": np.empty((Nq, 8), np.float32)} | rest

    return make


def ones(given):
    """The weighted mean of ones is 1."""
    given["V"][:] = 1.0


def hard(rng):
    """Rows of scores at which a softmax breaks."""
    shape = hard_scores(rng)
    return lambda given: shape(given["Q"], given["K"])


def ascending(given):
    """Each key is a multiple of one query, larger and larger."""
    given["Q"][:] = given["Q"][0]
    given["K"][:] = np.linspace(-3, 3, len(given["K"]), dtype=np.float32)[:, None] * given["Q"][0]


def far_below(given):
    """All scores lie around -150."""
    given["Q"][:] = np.abs(given["Q"]) + 4
    given["K"][:] = -np.abs(given["K"]) - 10


def launch(data):
    return Launch(ceil_div(data["O"].shape[0], 32), 32, "Q K V O Nq Nk scale trace")


def scores(data):
    return float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T


def states(data):
    """m, l and acc[0] of each row after each tile of 16 keys: (Nq, tiles, 3), float64."""
    S, v = scores(data), data["V"][:, 0].astype(np.float64)
    m = np.stack([S[:, :end].max(axis=1) for end in range(Bc, S.shape[1] + Bc, Bc)], axis=1)
    p = [np.exp(S[:, : (tile + 1) * Bc] - m[:, tile, None]) for tile in range(m.shape[1])]
    return np.stack([m, np.stack([q.sum(axis=1) for q in p], axis=1), np.stack([q @ v[: q.shape[1]] for q in p], axis=1)], axis=-1)


def reference(data):
    S = scores(data)
    p = np.exp(S - S.max(axis=1, keepdims=True))
    return {"O": p @ data["V"].astype(np.float64) / p.sum(axis=1, keepdims=True)}


exercise = Exercise(
    title="Repair an article's tiled softmax",
    reference=reference,
    trace=Trace(states, states=("m", "l", "acc[0]")),
    rtol=2e-5,
    atol=3e-5,  # scores of 150 come from 8 products, each off by 6e-8 of the sum so far, and pass through exp
    cases=(
        Case("one tile", data(4, 16), launch),
        Case("all values are 1, 4 tiles", data(4, 64, ones), launch),
        Case("two tiles", data(3, 32), launch),
        Case("one more than a tile", data(33, 17), launch),
        Case("one query, one key", data(1, 1), launch),
        Case("the largest comes last", data(3, 45, ascending), launch),
        Case("all far below zero", data(3, 35, far_below), launch),
        Case("another shape", data(5, 41), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s, hard(rng)), launch) for s in lengths(rng, 32, 32)],
    hints=(
        "A tile's weights sum to 1, whatever the others hold. A row's weights must sum to 1 over all tiles: nobody can divide before the last tile is known.",
        "Carry m and l on: `m_new = fmaxf(m, top)`, l and acc shrink by expf(m - m_new), then each key adds p to l and p * v to acc. Divide by l once, after "
        "the loop.",
    ),
)
