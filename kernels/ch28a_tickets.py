import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(heads, section, Nq, Nk):
    """ticket: (1), zero; head, tile, keys: (tickets): int32."""

    def make(rng):
        each = (np.empty(ceil_div(Nq, 128) * heads, np.int32) for _ in range(3))
        numbers = {"Nq": Nq, "Nk": Nk, "heads": heads, "section": section}
        return {"ticket": np.zeros(1, np.int32)} | dict(zip(("head", "tile", "keys"), each, strict=True)) | {k: np.int32(x) for k, x in numbers.items()}

    return make


def reference(data):
    """Sections one after the other; in each the tiles from the last to the first, each of all heads."""
    Nq, Nk, heads, section = (int(data[name]) for name in ("Nq", "Nk", "heads", "section"))
    order = [
        (head, tile)
        for start in range(0, heads, section)
        for tile in range(ceil_div(Nq, 128) - 1, -1, -1)
        for head in range(start, min(start + section, heads))
    ]
    last = np.array([min(128 * tile + 127, Nq - 1) for _, tile in order])
    head, tile = np.array(order, np.int32).T
    return {"ticket": np.zeros(1, np.int32), "head": head, "tile": tile, "keys": np.clip(last + Nk - Nq + 1, 0, Nk).astype(np.int32)}


launch = Launch(3, 32, "ticket head tile keys Nq Nk heads section")

exercise = Exercise(
    title="Tickets, the longest first",
    reference=reference,
    updates=("ticket",),
    cases=(
        Case("one head, four tiles", data(1, 1, 512, 512), launch),
        Case("one row", data(1, 4, 1, 1), launch),
        Case("five heads in sections of two", data(5, 2, 300, 300), launch),
        Case("more queries than keys", data(3, 4, 500, 200), launch, visible=False),
    ),
    budget=Budget("five heads in sections of two", "one draw a tile, one more for each block, and one atomic to put the zero back", atomics=15 + 3 + 1),
    variation=lambda rng: [
        Case(f"{heads} heads, {nq} rows", data(int(heads), int(rng.integers(1, 4)), nq, nk), Launch(int(rng.integers(1, 5)), 32, launch.args))
        for heads, (nq, nk) in zip(rng.integers(1, 7, 4), [*lengths(rng, 128, 64), (700, 900)], strict=True)
    ],
    hints=(
        "In a section of `wide` heads the first `wide` tickets are the last tiles of all its heads. So the place in the section gives both: "
        "modulo `wide` the head, "
        "divided by `wide` how many tiles from the end.",
        "`t = atomicAdd(ticket, 1)`. The last section may be narrower: `wide = min(section, heads - part * section)`. Draws: `all` that "
        "count and one more for each "
        "block, so whoever gets `all + gridDim.x - 1` puts the zero back.",
    ),
)
