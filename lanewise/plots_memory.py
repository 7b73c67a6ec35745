"""Pictures of memory: which elements a warp's lanes want at each step, and bars with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import SECTOR, Picture, _Canvas, _count

_CELL = 18


def steps(places: Sequence[Sequence[int]], size: int = 4, title: str = "") -> Picture:
    """What the lanes read, step by step: `places[step][lane]` is the element, of `size` bytes. A row a step, elements from left to right.

    An element that is read carries its lane's number; the sectors of 32 bytes that have to be fetched for it are coloured whole.
    Raises ValueError where there is no step, or an element beyond the 64th.
    """
    last = max((place for row in places for place in row), default=-1)
    if not 0 <= last < 64 or min(place for row in places for place in row) < 0:
        raise ValueError("steps draws elements 0 .. 63: pass at least one step, and elements of that range.")
    each = SECTOR // size  # elements of a sector
    width = -(-(last + 1) // each) * each
    canvas, left, top = _Canvas(), 66, 52
    if title:
        canvas.text(12, 18, title, "ink head")
    for sector in range(width // each):
        canvas.text(left + (sector + 0.5) * each * _CELL, top - 8, f"sector {sector}", "dim small mid")
    said = []
    for number, row in enumerate(places):
        y = top + number * (_CELL + 8)
        touched = sorted({place // each for place in row})
        canvas.text(12, y + 13, f"step {number}", "ink code")
        for sector in range(width // each):
            canvas.box(left + sector * each * _CELL, y, each * _CELL, _CELL, "warm" if sector in touched else "none")
        for lane, place in enumerate(row):
            canvas.box(left + place * _CELL, y, _CELL, _CELL, "soft")
            canvas.text(left + (place + 0.5) * _CELL, y + 13, str(lane), "on small mid")
        canvas.grid(left, y, width, 1, _CELL, _CELL)
        for sector in range(width // each + 1):
            canvas.box(left + sector * each * _CELL - 1, y - 2, 2, _CELL + 4, "ink")
        canvas.text(left + width * _CELL + 10, y + 13, _count(len(touched), "sector"), "ink")
        said.append(f"step {number}: {_count(len(touched), 'sector')}")
    total = sum(len({place // each for place in row}) for row in places)
    canvas.text(left, top + len(places) * (_CELL + 8) + 12, f"{_count(total, 'sector')} fetched; there are {width // each}", "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}{_count(len(places[0]), 'lane')}; {'; '.join(said)}. Fetched in all: {_count(total, 'sector')}.")


def bars(rows: Sequence[tuple[str, float]], unit: str = "", title: str = "") -> Picture:
    """A bar a row, from 0, with its number beside it. Raises ValueError where there is no row or a negative number."""
    if not rows or min(value for _, value in rows) < 0:
        raise ValueError("bars draws numbers from 0 up: pass at least one row, and no negative number.")
    canvas, top, longest = _Canvas(), 34 if title else 14, 380
    left = 24 + round(7.3 * max(len(label) for label, _ in rows))
    peak = max(value for _, value in rows) or 1
    if title:
        canvas.text(12, 18, title, "ink head")
    for number, (label, value) in enumerate(rows):
        y = top + number * 20
        canvas.text(12, y + 12, label, "ink code")
        canvas.box(left, y, max(1, longest * value / peak), 16, "soft")
        canvas.text(left + max(1, longest * value / peak) + 8, y + 12, f"{_amount(value)} {unit}".rstrip(), "ink")
    return canvas.picture(f"{title + ': ' if title else ''}{'; '.join(f'{label} {_amount(value)}' for label, value in rows)}{' ' + unit if unit else ''}.")


def _amount(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
