"""Pictures of who does what in a block, and of what tiles cost, in the manner of `plots`: SVG text from plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas


def warp_split(by: str, warps: int = 4, title: str = "") -> Picture:
    """A tile of scores, its queries beside it, its keys above, its part of the output behind: what warp 1 has of each (orange).

    `by`: "queries" or "keys". Raises ValueError for another word or fewer than two warps.
    """
    if by not in ("queries", "keys") or warps < 2:
        raise ValueError('warp_split draws a split by "queries" or "keys" among at least 2 warps.')
    canvas, band, left, top = _Canvas(), 34, 82, 84
    size, rows = band * warps, by == "queries"
    if title:
        canvas.text(12, 18, title, "ink head")
    parts = [  # name, x, y, width, height, cut across (rows) or along (columns), None: no part of it is anybody's alone
        ("Q", left - 56, top, 40, size, rows),
        ("K", left, top - 46, size, 30, None if rows else False),
        ("S, P", left, top, size, size, rows),
        ("V", left + size + 40, top, 40, size, None if rows else True),
        ("O", left + size + 120, top, 90, size, rows),
    ]
    for name, x, y, w, h, across in parts:
        whole = across is None or (not rows and name in ("Q", "O"))
        canvas.box(x, y, w, h, "warm" if whole else "soft")
        if not whole and across:
            canvas.box(x, y + h / warps, w, h / warps, "warm")
        elif not whole:
            canvas.box(x + w / warps, y, w / warps, h, "warm")
        if whole:
            canvas.grid(x, y, 1, 1, w, h)
        elif across:
            canvas.grid(x, y, 1, warps, w, h / warps)
        else:
            canvas.grid(x, y, warps, 1, w / warps, h)
        canvas.text(x + w / 2, y - 6 if name != "K" else y + 19, name, "ink head mid" if name != "K" else "on head mid")
    for warp in range(warps):
        along = (warp + 0.5) * band
        if rows:
            canvas.text(left + size / 2, top + along + 3, f"warp {warp}", "on small mid")
        else:
            canvas.text(left + along, top + size / 2, str(warp), "on small mid")
    words = (
        "orange: what warp 1 touches. Its rows of Q and O are its own; all of K and V pass by"
        if rows
        else "orange: what warp 1 touches. Its keys are its own; all of Q passes by, and every warp adds to all of O"
    )
    canvas.text(12, top + size + 24, words, "ink")
    return canvas.picture(f"{title + ': ' if title else ''}a tile of scores split by {by} among {warps} warps; {words}.")


def ladder(rows: Sequence[tuple[str, float]], unit: str, mark: tuple[str, float] | None = None, title: str = "") -> Picture:
    """Bars, one a row: (label, value). `mark`: (name, value) of a line to compare with. Raises ValueError where there is no row or a value below 0."""
    if not rows or min(value for _, value in rows) < 0:
        raise ValueError("ladder needs rows of (label, value) with values from 0 up.")
    canvas, top, wide = _Canvas(), 34 if title else 12, 380
    left = 24 + round(6.8 * max(len(label) for label, _ in rows))
    peak = max([value for _, value in rows] + ([mark[1]] if mark else [])) or 1
    if title:
        canvas.text(12, 18, title, "ink head")
    for number, (label, value) in enumerate(rows):
        y = top + number * 24
        canvas.text(12, y + 14, label, "ink")
        canvas.box(left, y + 2, max(1, wide * value / peak), 16, "soft")
        canvas.text(left + wide * value / peak + 8, y + 14, f"{value:,.4g}", "ink")
    below = top + len(rows) * 24
    words = f"in {unit}"
    if mark:
        canvas.box(left + wide * mark[1] / peak - 1, top - 2, 2, below - top, "warm")
        words += f"; orange: {mark[0]}, {mark[1]:,.4g}"
    canvas.text(12, below + 16, words, "dim")
    told = "; ".join(f"{label}: {value:,.4g}" for label, value in rows)
    return canvas.picture(f"{title + ': ' if title else ''}{told} {words}.")


def unit_clocks(rows: Sequence[tuple[str, dict[str, float], float]], title: str = "") -> Picture:
    """What each unit of an SM has to do, a group of bars a tile: (label, unit → clocks, clocks that the model gives the tile in all).

    All units of the first row are drawn; the last column is the whole. Raises ValueError where there is no row or units differ.
    """
    if not rows or any(list(clocks) != list(rows[0][1]) for _, clocks, _ in rows):
        raise ValueError("unit_clocks needs rows with the same units: pass (label, unit → clocks, clocks in all).")
    units = list(rows[0][1])
    canvas, top, cell, high = _Canvas(), 52, 108, 18
    left = 24 + round(6.8 * max(len(label) for label, _, _ in rows))
    peak = max(max(*clocks.values(), whole) for _, clocks, whole in rows) or 1
    if title:
        canvas.text(12, 18, title, "ink head")
    for k, name in enumerate([*units, "in all"]):
        canvas.text(left + k * cell, top - 8, name, "dim")
    for number, (label, clocks, whole) in enumerate(rows):
        y = top + number * (high + 8)
        canvas.text(12, y + 13, label, "ink")
        most = max(clocks.values())
        for k, value in enumerate([*clocks.values(), whole]):
            x, w = left + k * cell, (cell - 56) * value / peak
            canvas.box(x, y, max(1, w), high, "warm" if value == most and k < len(units) else "soft")
            canvas.text(x + w + 4, y + 13, f"{value:,.3g}", "ink small")
    words = "orange: the busiest unit of a row"
    canvas.text(12, top + len(rows) * (high + 8) + 16, words, "dim")
    told = "; ".join(f"{label}: {max(clocks, key=lambda u: clocks[u])} {max(clocks.values()):,.3g}, in all {whole:,.3g}" for label, clocks, whole in rows)
    return canvas.picture(f"{title + ': ' if title else ''}the busiest unit of each tile and the whole: {told}.")


def orders(rows: Sequence[tuple[str, float, float]], names: tuple[str, str], title: str = "") -> Picture:
    """Two orders of the same things, joined by lines: (label, value on the left, value on the right), smaller ones stand higher.

    Values that are equal in one column stand in the order of the other. Raises ValueError for fewer than two rows.
    """
    if len(rows) < 2:
        raise ValueError("orders compares at least two rows: pass (label, left value, right value).")
    canvas, top, step = _Canvas(), 56, 24
    labels = [label for label, _, _ in rows]
    column = 24 + round(6.8 * max(map(len, labels)))
    right = column + 190
    if title:
        canvas.text(12, 18, title, "ink head")
    ranks = []
    for here, there in ((1, 2), (2, 1)):  # equal values stand in the other column's order: nothing says that they change places
        order = sorted(range(len(rows)), key=lambda i: (rows[i][here], rows[i][there]))
        ranks.append([order.index(i) for i in range(len(rows))])
    canvas.text(12, top - 14, names[0], "dim")
    canvas.text(right, top - 14, names[1], "dim")
    for i, label in enumerate(labels):
        a, b = (top + rank[i] * step for rank in ranks)
        canvas.text(12, a + 4, label, "ink")
        canvas.text(right, b + 4, label, "ink")
        canvas.parts.append(f"<path class='rim' style='stroke-width:1.5' d='M{column} {a}L{right - 10} {b}'/>")
    crossed = sum((ranks[0][i] - ranks[0][j]) * (ranks[1][i] - ranks[1][j]) < 0 for i in range(len(rows)) for j in range(i))
    pairs = len(rows) * (len(rows) - 1) // 2
    equal = sum(rows[i][1] == rows[j][1] or rows[i][2] == rows[j][2] for i in range(len(rows)) for j in range(i))
    words = f"{crossed} of {pairs} pairs change places" + (f", {equal} are equal in one of the two" if equal else "")
    canvas.text(12, top + len(rows) * step + 14, words, "ink")
    first, second = ([labels[i] for i in sorted(range(len(rows)), key=lambda i: rank[i])] for rank in ranks)
    return canvas.picture(f"{title + ': ' if title else ''}{names[0]}: {', '.join(first)}; {names[1]}: {', '.join(second)}; {words}.")
