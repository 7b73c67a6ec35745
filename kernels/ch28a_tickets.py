import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, ceil_div, lengths


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


def drawn(says, head_and_tile):
    """A Slip: ticket t stands for head_and_tile(t, section, heads, tiles)."""

    def gives(data):
        section, heads, tiles = int(data["section"]), int(data["heads"]), ceil_div(int(data["Nq"]), 128)
        pairs = np.array([head_and_tile(t, section, heads, tiles) for t in range(heads * tiles)])
        return {"head": pairs[:, 0], "tile": pairs[:, 1]}

    return Slip(says, gives)


def in_section(t, section, heads, tiles):
    """(the section's first head, the ticket's place in the section, how many heads are in it)."""
    part, inside = divmod(t, section * tiles)
    return part * section, inside, min(section, heads - part * section)


def shortest_first(t, section, heads, tiles):
    start, inside, wide = in_section(t, section, heads, tiles)
    return start + inside % wide, inside // wide


def head_by_head(t, section, heads, tiles):
    start, inside, wide = in_section(t, section, heads, tiles)
    return start + inside // tiles, tiles - 1 - inside % tiles


def equal_sections(t, section, heads, tiles):
    start, inside, _ = in_section(t, section, heads, tiles)
    return start + inside % section, tiles - 1 - inside // section


def one_section(t, section, heads, tiles):
    return t % heads, tiles - 1 - t // heads


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
    slips=(
        drawn("The shortest tiles come first: the first tickets of a section stand for its heads' last tiles.", shortest_first),
        drawn("The tiles of one head follow each other: all heads of the section have their last tile first.", head_by_head),
        drawn("The last section is counted as wide as the others: it has heads - part * section heads.", equal_sections),
        drawn("All heads are one section: after section * tiles tickets the next heads come.", one_section),
        Slip(
            "The counter is left as it is: whoever draws the last number of all, all + gridDim.x - 1, puts the zero back.",
            lambda data: {"ticket": np.array([ceil_div(int(data["Nq"]), 128) * int(data["heads"]) + 3])},
        ),
    ),
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
