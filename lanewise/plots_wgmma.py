"""Pictures of wgmma: what a step reads of a tile in shared memory, and which elements of D a thread holds. SVG text, as in `plots`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lanewise.plots import Picture, _Canvas

Chunk = tuple[int, int]  # row, number of the 16-byte chunk in the row
WARPS, ROWS = 4, 16  # of a warpgroup; rows of D a warp has


def operand(places: Sequence[Chunk], step: Collection[Chunk], one: Collection[Chunk], title: str = "") -> Picture:
    """Shared memory in lines of 128 bytes, cells of 16: `places` says which (row, chunk) lies in each. `step`: the chunks that one wgmma reads, `one`: those of
    them that hold a single row of A or column of B.

    Raises ValueError where `places` isn't whole lines, or `one` has a chunk that `step` hasn't.
    """
    if not places or len(places) % 8 or not set(one) <= set(step):
        raise ValueError("operand draws whole lines of 8 chunks, and `one` within `step`: pass 8 pairs (row, chunk) a line.")
    canvas, wide, high, top = _Canvas(), 46, 18, 34 if title else 14
    if title:
        canvas.text(12, 18, title, "ink head")
    for at, (row, chunk) in enumerate(places):
        x, y = 12 + at % 8 * wide, top + at // 8 * high
        kind = "warm" if (row, chunk) in one else "soft" if (row, chunk) in step else "none"
        canvas.box(x, y, wide, high, kind)
        canvas.text(x + wide / 2, y + 13, f"{row}, {8 * chunk}..", ("ink" if kind == "none" else "on") + " small mid")
    canvas.grid(12, top, 8, len(places) // 8, wide, high)
    y = top + len(places) // 8 * high + 18
    for number, (kind, words) in enumerate((("soft", "read by the step"), ("warm", "for one row of A or column of B"))):
        canvas.box(12 + number * 130, y - 9, 10, 10, kind)
        canvas.text(28 + number * 130, y, words, "dim")
    count = sum(place in step for place in places)
    mine = ", ".join(f"row {row} from column {8 * chunk}" for row, chunk in places if (row, chunk) in one)
    words = f"{count} of {len(places)} chunks of 16 bytes are read by the step; for one row of A or column of B: {mine}."
    return canvas.picture(f"{title + ': ' if title else ''}{words}")


def accumulators(rows: Sequence[int], columns: Sequence[int], thread: int, title: str = "") -> Picture:
    """The elements of D, 64 rows, that `thread` (0 to 127) holds: register i has row rows[i] and column columns[i].

    Raises ValueError where they aren't as many, or lie outside of the thread's warp's 16 rows.
    """
    warp = thread // 32
    if not 0 <= thread < 32 * WARPS or len(rows) != len(columns) or not rows or any(row // ROWS != warp for row in rows):
        raise ValueError("accumulators draws a thread from 0 to 127 and its registers, whose rows are among its warp's 16.")
    width = max(columns) // 8 * 8 + 8
    canvas, wide, high, left, y = _Canvas(), 13, 12, 124, 40.0 if title else 20.0
    if title:
        canvas.text(12, 18, title, "ink head")
    for column in range(0, width, 8):
        canvas.text(left + column * wide, y - 4, str(column), "dim small")
    for number in range(WARPS):
        tall = ROWS * high if number == warp else 22
        canvas.text(12, y + 15, f"warp {number}: {ROWS * number} to {ROWS * number + ROWS - 1}", "ink")
        canvas.box(left, y, width * wide, tall, "none")
        if number == warp:
            for register, (row, column) in enumerate(zip(rows, columns, strict=True)):
                x, at = left + column * wide, y + row % ROWS * high
                canvas.box(x, at, wide, high, "warm")
                canvas.text(x + wide / 2, at + 9, str(register), "on small mid")
            canvas.grid(left, y, width // 8, 2, 8 * wide, 8 * high)
        y += tall + 6
    said = "; ".join(f"{i}: ({row}, {column})" for i, (row, column) in enumerate(zip(rows[:8], columns[:8], strict=True)))
    return canvas.picture(f"{title + ': ' if title else ''}thread {thread}, warp {warp}, lane {thread % 32}, holds in register {said}, and so on.")
