"""Pictures of what the copy engine does: where it lays the chunks of a tile, and how a ring's phases follow one another. SVG text, as in `plots`."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas

CHUNKS = 64  # of 16 bytes: 8 lines of 128 bytes, in each of which every bank stands once


def tile_bytes(tiles: Sequence[tuple[str, Sequence[tuple[int, int]]]], marked: int = 0, title: str = "") -> Picture:
    """1024 bytes of shared memory for each of (name, what lies there): 64 pairs (row, chunk), in the order of the addresses. Chunk `marked` of every row stands
    out: in one column its readers meet in the same banks.

    Raises ValueError where a tile hasn't 64 chunks.
    """
    if not tiles or any(len(places) != CHUNKS for _, places in tiles):
        raise ValueError("tile_bytes draws tiles of 64 chunks of 16 bytes each: pass (name, 64 pairs of row and chunk).")
    canvas, wide, high, top = _Canvas(), 34, 17, 34 if title else 14
    if title:
        canvas.text(12, 18, title, "ink head")
    said = []
    for number, (name, places) in enumerate(tiles):
        left, y = 12 + number % 2 * (8 * wide + 26), top + number // 2 * (8 * high + 40)
        canvas.text(left, y + 10, name, "ink")
        for at, (row, chunk) in enumerate(places):
            canvas.box(left + at % 8 * wide, y + 16 + at // 8 * high, wide, high, "warm" if chunk == marked else "none")
            canvas.text(left + at % 8 * wide + wide / 2, y + 28 + at // 8 * high, f"{row}.{chunk}", ("on" if chunk == marked else "ink") + " small mid")
        canvas.grid(left, y + 16, 8, 8, wide, high)
        columns = [at % 8 for at, (row, chunk) in enumerate(places) if chunk == marked and row < 8]
        said.append(f"{name}: chunk {marked} of rows 0 to 7 lies in columns {', '.join(map(str, columns))}")
    return canvas.picture(f"{title + ': ' if title else ''}lines of 128 bytes, each cell 16 bytes, named row.chunk. {'; '.join(said)}.")


def ring(stages: int, tiles: int, title: str = "") -> Picture:
    """The stages of a ring from step to step: tiles on their way, the one that is read, and the parity that its reader waits for.

    The tile of step n lies in stage n % stages, and is asked for as step n - stages + 1 begins, or before the first. Raises ValueError for fewer than two
    stages or no tile.
    """
    if stages < 2 or tiles < 1:
        raise ValueError("ring draws at least two stages and one tile: ring(3, 8).")
    canvas, wide, high, left, top = _Canvas(), 62, 30, 74, 52 if title else 32
    if title:
        canvas.text(12, 18, title, "ink head")
    for n in range(tiles):
        canvas.text(left + n * wide + wide / 2, top - 6, f"step {n}", "dim small mid")
    said = []
    for s in range(stages):
        y = top + s * (high + 8)
        canvas.text(12, y + 19, f"stage {s}")
        for n in range(s, tiles, stages):
            start, parity = max(0, n - stages + 1), n // stages & 1
            for step in range(start, n):
                canvas.box(left + step * wide, y, wide, high, "soft")
                canvas.text(left + step * wide + wide / 2, y + 18, f"tile {n} comes", "on small mid")
            canvas.box(left + n * wide, y, wide, high, "warm")
            canvas.text(left + n * wide + wide / 2, y + 13, f"tile {n} read", "on small mid")
            canvas.text(left + n * wide + wide / 2, y + 25, f"parity {parity}", "on small mid")
        canvas.grid(left, y, tiles, 1, wide, high)
        said.append(f"stage {s}: " + ", ".join(f"tile {n} at step {n} with parity {n // stages & 1}" for n in range(s, tiles, stages)))
    return canvas.picture(f"{title + ': ' if title else ''}what each of {stages} stages holds. Read are in {'; '.join(said)}.")
