"""The attention ladder as a picture: rungs of the course and libraries, TFLOP/s over the length, in the manner of `plots`: SVG text from a table's rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lanewise.plots import Picture, _Canvas, _n

OURS, LIBRARIES = ("flash3", "flash2"), ("FlashAttention-4", "cuDNN", "FlashAttention-2")
# Ours are orange, libraries blue; dashes tell one line of a colour from another for those who can't tell colours.
_DASHES = {"flash3": "", "flash2": "6 3", "FlashAttention-4": "", "cuDNN": "6 3", "FlashAttention-2": "2 3"}
_COLOURS = (
    "<style>.ours{stroke:#b45309;fill:none}.theirs{stroke:#2563ab;fill:none}"
    "@media (prefers-color-scheme:dark){.ours{stroke:#f2a65a}.theirs{stroke:#7ab8ff}}</style>"
)
_WIDE, _TALL, _LEFT, _TOP, _NAMES, _BELOW = 240, 190, 44, 62, 138, 52


def attention_ladder(rows: Sequence[Mapping[str, object]], origin: str = "", title: str = "") -> Picture:
    """Four panels, a head size a column, full and causal; one line for each rung and library that all rows of a panel name, TFLOP/s over N.

    `rows`: of the table attention_ladder: d, N, causal, and TFLOP/s under the names of OURS and LIBRARIES. `origin`: a line below, device, date and command.
    Raises ValueError where no row names a rung or a length isn't positive.
    """
    names = [name for name in (*OURS, *LIBRARIES) if any(name in row for row in rows)]
    if not any(name in OURS for name in names) or min(_value(row, "N") for row in rows) < 1:
        raise ValueError("attention_ladder draws rows of the table of that name: each needs d, N, causal and TFLOP/s of flash2 or flash3.")
    peak = max(_value(row, name) for row in rows for name in names if name in row)
    step = 100 if peak > 250 else max(1, round(peak / 4))
    high = math.ceil(peak / step) * step
    canvas, said = _Canvas(), []
    canvas.parts.append(_COLOURS)
    canvas.text(12, 20, title or "Attention forward, TFLOP/s over N", "ink head")
    for column, d in enumerate(sorted({_value(row, "d") for row in rows})):
        for line, causal in enumerate((False, True)):
            panel = sorted((row for row in rows if row["d"] == d and row["causal"] == causal), key=lambda row: _value(row, "N"))
            if panel:
                what = f"d = {d:g}, {'causal' if causal else 'full'}"
                x, y = _LEFT + column * (_WIDE + _NAMES + _LEFT), _TOP + line * (_TALL + _BELOW)
                said.append(f"{what}: {_panel(canvas, x, y, panel, names, high, step, what)}")
    canvas.text(12, canvas.height + 22, "orange: kernels of this course; blue: libraries", "dim")
    if origin:
        canvas.text(12, canvas.height + 16, origin, "dim small")
    return canvas.picture(f"{title or 'Attention forward'}, TFLOP/s. {'. '.join(said)}.")


def _panel(canvas: _Canvas, left: float, top: float, panel: Sequence[Mapping[str, object]], names: Sequence[str], high: float, step: int, what: str) -> str:
    """One panel, its lines named at their right ends; what it shows in words."""
    lengths = [_value(row, "N") for row in panel]
    low, span = math.log2(lengths[0]), math.log2(lengths[-1] / lengths[0]) or 1.0

    def at(n: float, speed: float) -> tuple[float, float]:
        return left + (math.log2(n) - low) / span * _WIDE, top + (1 - speed / high) * _TALL

    canvas.text(left, top - 10, what, "ink")
    for speed in range(0, int(high) + 1, step):
        y = at(lengths[0], speed)[1]
        canvas.parts.append(f"<path class='rim' stroke-width='.4' d='M{_n(left)} {_n(y)}h{_WIDE}'/>")
        canvas.text(left - 6, y + 3, f"{speed}", "dim small end")
    for n in lengths:
        canvas.text(at(n, 0)[0], top + _TALL + 14, f"{n:,.0f}", "dim small mid")
    ends, said = [], []
    for name in names:
        if any(name not in row for row in panel):
            continue
        points = [at(n, _value(row, name)) for n, row in zip(lengths, panel, strict=True)]
        kind, width = ("ours", 2.4) if name in OURS else ("theirs", 1.6)
        way = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        dash = f" stroke-dasharray='{_DASHES[name]}'" if _DASHES[name] else ""
        canvas.parts.append(f"<path class='{kind}' stroke-width='{width}'{dash} d='M{way}'/>")
        ends.append((points[-1][1], name, f"{name} {_value(panel[-1], name):.0f}"))
        said.append(f"{name} {_value(panel[0], name):.0f} at {lengths[0]:,.0f}, {_value(panel[-1], name):.0f} at {lengths[-1]:,.0f}")
    for y, (_, name, words) in zip(_apart([end[0] for end in sorted(ends)]), sorted(ends), strict=True):
        canvas.text(left + _WIDE + 8, y + 4, words, "ink head" if name in OURS else "ink")
    return "; ".join(said)


def _apart(places: Sequence[float], least: float = 15) -> list[float]:
    """Rising places, moved apart to at least `least` with as little shift as possible: those that crowd together are centred on where they were."""
    groups: list[list[float]] = []  # each: sum of places, count
    for place in places:
        groups.append([place, 1])
        while len(groups) > 1 and _bottom(groups[-2], least) + least > _top(groups[-1], least):
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    return [_top(group, least) + k * least for group in groups for k in range(int(group[1]))]


def _top(group: Sequence[float], least: float) -> float:
    return group[0] / group[1] - least * (group[1] - 1) / 2


def _bottom(group: Sequence[float], least: float) -> float:
    return group[0] / group[1] + least * (group[1] - 1) / 2


def _value(row: Mapping[str, object], key: str) -> float:
    found = row[key]
    assert isinstance(found, int | float), key
    return float(found)
