"""The attention ladder as a picture: rungs of the course and libraries over the length, and every rung at one; as in `plots`, SVG text from tables' rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lanewise.plots import Picture, _Canvas, _n

OURS, LIBRARIES = ("flash3", "flash2"), ("FlashAttention-4", "cuDNN", "FlashAttention-2")
REFERENCES = ("FlexAttention", "PyTorch efficient", "PyTorch math")
# Ours are orange, libraries blue, references grey; dashes tell one line of a colour from another for those who can't tell colours.
_DASHES = {"flash2": "6 3", "cuDNN": "6 3", "FlashAttention-2": "2 3", "PyTorch efficient": "6 3", "PyTorch math": "2 3"}
_WIDTHS = {"ours": 2.4, "theirs": 1.6, "others": 1.2}
_COLOURS = (
    "<style>.ours{stroke:#b45309;fill:none}.theirs{stroke:#2563ab;fill:none}.others{stroke:#6b7280;fill:none}"
    "@media (prefers-color-scheme:dark){.ours{stroke:#f2a65a}.theirs{stroke:#7ab8ff}.others{stroke:#9ca3af}}</style>"
)
_WIDE, _TALL, _LEFT, _TOP, _NAMES, _BELOW = 240, 190, 44, 62, 160, 52
_BAR, _LINE = 300, 22  # of every_rung: the longest bar, and a rung's height

Rows = Sequence[Mapping[str, object]]


def attention_ladder(rows: Rows, origin: str = "", title: str = "", references: Rows = (), steps: Rows = ()) -> Picture:
    """Four panels, a head size a column, full and causal; one line for each rung and library, TFLOP/s over N. Below, a bar for each rung of the course.

    `rows`: of the table attention_ladder: d, N, causal, and TFLOP/s under the names of OURS and LIBRARIES, which stand in all rows of a panel or aren't drawn.
    `references`: of attention_references, at whichever lengths there are. `steps`: of every_rung. `origin`: lines below, device, date and command.
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
                lengths = [_value(row, "N") for row in panel]
                lines = {name: [(n, _value(row, name)) for n, row in zip(lengths, panel, strict=True)] for name in names if all(name in row for row in panel)}
                lines |= _reference_lines([row for row in references if row["d"] == d and row["causal"] == causal and row["N"] in lengths])
                what = f"d = {d:g}, {'causal' if causal else 'full'}"
                x, y = _LEFT + column * (_WIDE + _NAMES + _LEFT), _TOP + line * (_TALL + _BELOW)
                said.append(f"{what}: {_panel(canvas, x, y, lengths, lines, high, step, what)}")
    legend = "orange: kernels of this course; blue: libraries"
    canvas.text(12, canvas.height + 22, f"{legend}; grey: PyTorch's other ways" if references else legend, "dim")
    if steps:
        said.append(_all_rungs(canvas, steps))
    for words in origin.splitlines():
        canvas.text(12, canvas.height + 16, words, "dim small")
    return canvas.picture(f"{title or 'Attention forward'}, TFLOP/s. {'. '.join(said)}.")


def _reference_lines(rows: Rows) -> dict[str, list[tuple[float, float]]]:
    """Name → (N, TFLOP/s), N rising, of a panel's references."""
    found = {name: sorted((_value(row, "N"), _value(row, "TFLOPs")) for row in rows if row["library"] == name) for name in REFERENCES}
    return {name: points for name, points in found.items() if points}


def _all_rungs(canvas: _Canvas, steps: Rows) -> str:
    """Below what is drawn so far, a bar a rung, from 0; what it shows in words."""
    shape = f"d = 64, full, N = {_value(steps[0], 'N'):,.0f}, from the first kernels up"
    top, left = canvas.height + 40, 24 + round(6.6 * max(len(str(row["rung"])) for row in steps))
    peak = max(_value(row, "TFLOPs") for row in steps)
    canvas.text(12, top - 10, shape, "ink head")
    said = []
    for number, row in enumerate(steps):
        y, wide = top + number * _LINE, max(1.0, _BAR * _value(row, "TFLOPs") / peak)
        canvas.text(12, y + 13, str(row["rung"]), "ink")
        canvas.box(left, y + 2, wide, 14, "soft" if row["type"] == "float32" else "warm")
        told = f"{_value(row, 'TFLOPs'):,.3g}, {_value(row, 'ms'):,.3g} ms"
        canvas.text(left + wide + 8, y + 13, f"{told}: {row['idea']}", "ink")
        said.append(f"{row['rung']} {told}")
    canvas.text(12, canvas.height + 18, "TFLOP/s and milliseconds; blue: float32 without tensor cores, orange: fp16 with them", "dim")
    return f"{shape}: {'; '.join(said)}"


def _panel(
    canvas: _Canvas, left: float, top: float, lengths: Sequence[float], lines: Mapping[str, Sequence[tuple[float, float]]], high: float, step: int, what: str
) -> str:
    """One panel, its lines (name → (N, TFLOP/s)) named at the right; what it shows in words."""
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
    for name, points in lines.items():
        kind = "ours" if name in OURS else "theirs" if name in LIBRARIES else "others"
        way = "L".join(f"{_n(x)} {_n(y)}" for x, y in (at(*point) for point in points))
        dash = f" stroke-dasharray='{_DASHES[name]}'" if name in _DASHES else ""
        canvas.parts.append(f"<path class='{kind}' stroke-width='{_WIDTHS[kind]}'{dash} d='M{way}'/>")
        (first, slow), (last, fast) = points[0], points[-1]
        ends.append((at(last, fast)[1], name, f"{name} {fast:.0f}" + (f" at {last:,.0f}" if last != lengths[-1] else "")))
        said.append(f"{name} {slow:.0f} at {first:,.0f}, {fast:.0f} at {last:,.0f}" if first != last else f"{name} {fast:.0f} at {last:,.0f}")
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
