"""Pictures of a reduction: many numbers that become one, level by level."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas, _n

_CELL, _LEVEL, _TOP = 44, 52, 50


def halving(values: Sequence[float], shuffled: bool = False, title: str = "") -> Picture:
    """The sum of 2, 4, 8 … `values` by halves, with the number in each place at each level.

    Without `shuffled` the places are words of shared memory: the lower half adds, the upper half stays. With `shuffled` the places are the
    lanes' registers: every lane adds what it gets from `step` lanes further on (its own number where there is no such lane), and only the
    numbers of the lower lanes mean something. Raises ValueError where the number of values isn't 2, 4, 8, 16.
    """
    count = len(values)
    if count not in (2, 4, 8, 16):
        raise ValueError(f"halving draws 2, 4, 8 or 16 values, not {count}: pass a power of two.")
    canvas, left, level, now = _Canvas(), 100, 0, list(values)
    if title:
        canvas.text(12, 18, title, "ink head")
    for place in range(count):
        canvas.text(left + (place + 0.5) * _CELL, _TOP - 8, f"{'lane' if shuffled else 't ='} {place}", "dim small mid")
    _row(canvas, left, _TOP, now, count, "start")
    step = count // 2
    said = [f"{_number(sum(now))} is wanted"]
    while step:
        level += 1
        y = _TOP + level * _LEVEL
        for place in range(step):
            # From the place that is read, down to the one that adds it.
            x0, x1 = left + (place + step + 0.5) * _CELL, left + (place + 0.5) * _CELL
            canvas.parts.append(f"<path class='rim' d='M{_n(x0)} {_n(y - _LEVEL + 24)}L{_n(x1)} {_n(y)}'/>")
        if shuffled:
            now = [v + (now[place + step] if place + step < count else v) for place, v in enumerate(now)]
        else:
            now = [v + now[place + step] if place < step else v for place, v in enumerate(now)]
        _row(canvas, left, y, now, step, f"{'step' if shuffled else 'half'} = {step}")
        said.append(f"after {'step' if shuffled else 'half'} {step}: {', '.join(map(_number, now[:step]))}")
        step //= 2
    adders = "every lane adds, in its registers; the grey numbers mean nothing" if shuffled else "blue places hold what is still to be added up"
    canvas.text(left, _TOP + (level + 1) * _LEVEL - 6, adders, "ink")
    return canvas.picture(f"{title + ': ' if title else ''}{count} numbers, {level} levels, {'; '.join(said)}.")


def _row(canvas: _Canvas, left: float, y: float, values: Sequence[float], alive: int, label: str) -> None:
    """One level: its numbers in a row, the first `alive` of them in colour."""
    canvas.text(12, y + 16, label, "ink code")
    for place, value in enumerate(values):
        x = left + place * _CELL
        canvas.box(x, y, _CELL, 24, "soft" if place < alive else "none")
        canvas.box(x, y, _CELL, 24, "rim")
        canvas.text(x + _CELL / 2, y + 16, _number(value), "on mid" if place < alive else "dim mid")


def _number(value: float) -> str:
    return f"{value:g}"
