"""Pictures of tiles in shared memory: where the 16-byte chunks of rows lie, what one ldmatrix asks of the banks, which lane gets which element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas, _count

GROUPS = 8  # of four banks: a 16-byte chunk fills one


def chunk_places(places: Sequence[tuple[int, int] | None], chunk: int, title: str = "") -> Picture:
    """Shared memory in lines of 128 bytes: `places[k]` is the (row, chunk) of the tile that lies in the k-th 16 bytes, None where nothing does (padding).

    Coloured is what one matrix of ldmatrix reads: `chunk` of rows 0 to 7. Chunks that stand below each other lie in the same four banks, so they take a pass
    each. Raises ValueError where one of the eight isn't there.
    """
    wanted = [(row, chunk) for row in range(8)]
    if not set(wanted) <= set(places):
        raise ValueError(f"chunk_places draws chunk {chunk} of rows 0 to 7: pass a layout that holds all eight.")
    canvas, w, h, left, top = _Canvas(), 62, 17, 74, 46
    if title:
        canvas.text(12, 18, title, "ink head")
    canvas.text(12, top - 6, "banks", "dim small")
    for group in range(GROUPS):
        canvas.text(left + (group + 0.5) * w, top - 6, f"{4 * group} - {4 * group + 3}", "dim small mid")
    seen: Counter[int] = Counter()
    for k, place in enumerate(places):
        x, y = left + k % GROUPS * w, top + k // GROUPS * h
        if place in wanted:
            canvas.box(x, y, w, h, "warm" if seen[k % GROUPS] else "soft")
            seen[k % GROUPS] += 1
        elif place is None:
            canvas.box(x, y, w, h, "none")
        if place is not None:
            canvas.text(x + w / 2, y + 12, f"row {place[0]}: {place[1]}", "on small mid" if place in wanted else "dim small mid")
    lines = -(-len(places) // GROUPS)
    for line in range(lines):
        canvas.text(12, top + line * h + 12, f"byte {line * 128}", "dim small")
    canvas.grid(left, top, GROUPS, lines, w, h)
    verdict = f"chunk {chunk} of 8 rows: {_count(max(seen.values()), 'pass', 'passes')}, {_count(len(seen) * 4, 'bank')} in use"
    canvas.text(left, top + lines * h + 18, verdict, "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}{_count(lines, 'line')} of 128 bytes; {verdict}.")


def holders(lanes: Sequence[Sequence[int]], lane: int = 1, title: str = "") -> Picture:
    """An 8 x 8 matrix with the lane that got each element; those of `lane` are coloured. Raises ValueError for another shape."""
    if len(lanes) != 8 or any(len(row) != 8 for row in lanes):
        raise ValueError("holders draws one 8 x 8 matrix: pass 8 rows of 8 lane numbers.")
    canvas, size, left, top = _Canvas(), 24, 56, 48
    if title:
        canvas.text(12, 18, title, "ink head")
    for k in range(8):
        canvas.text(left + (k + 0.5) * size, top - 6, str(k), "dim small mid")
        canvas.text(12, top + k * size + 16, f"row {k}", "dim small")
    for row, who in enumerate(lanes):
        for column, number in enumerate(who):
            if number == lane:
                canvas.box(left + column * size, top + row * size, size, size, "warm")
            canvas.text(left + (column + 0.5) * size, top + row * size + 16, str(number), "on mid" if number == lane else "ink mid")
    canvas.grid(left, top, 8, 8, size, size)
    mine = ", ".join(f"row {row} column {column}" for row in range(8) for column in range(8) if lanes[row][column] == lane)
    return canvas.picture(f"{title + ': ' if title else ''}which lane gets which element of an 8 x 8 matrix; lane {lane}: {mine}.")
