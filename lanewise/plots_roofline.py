"""The roofline and the outer product, in the manner of `plots`: SVG text from plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas, _n


def roofline(
    points: Sequence[tuple[str, float, float | None]],
    slope: float,
    peak: float,
    across: str = "flops a byte",
    up: str = "flops a clock",
    title: str = "",
) -> Picture:
    """How much arithmetic a machine can do at most, over how much of it there is for each byte; both axes by powers of two.

    `points`: (name, intensity, reached); `reached` None draws the point on the roof, which is then a bound and no reading. `slope`: bytes the machine
    moves in the unit of time of `up`; `peak`: its arithmetic in that unit. Raises ValueError for numbers that aren't positive.
    """
    if min(slope, peak, *(x for _, x, _ in points), *(y for _, _, y in points if y is not None)) <= 0:
        raise ValueError("a roofline's axes are logarithmic: pass a slope, a peak and points above 0.")
    ridge = peak / slope
    xs = [ridge, *(x for _, x, _ in points)]
    low, high = math.floor(math.log2(min(xs))) - 1, math.ceil(math.log2(max(xs))) + 2
    bottom = math.floor(math.log2(min(slope * 2**low, peak, *(y for _, _, y in points if y is not None))))
    top = math.ceil(math.log2(peak)) + 1
    canvas, left, ceiling, wide, high_px = _Canvas(), 78, 40, 520, 260

    def at(x: float, y: float) -> tuple[float, float]:
        return left + wide * (math.log2(x) - low) / (high - low), ceiling + high_px * (top - math.log2(y)) / (top - bottom)

    if title:
        canvas.text(12, 18, title, "ink head")
    canvas.box(left, ceiling, wide, high_px, "rim")
    for power in _ticks(low, high):
        canvas.text(at(2**power, 1)[0], ceiling + high_px + 14, _number(2.0**power), "dim small mid")
    for power in _ticks(bottom, top):
        canvas.text(left - 6, at(1, 2**power)[1] + 3, _number(2.0**power), "dim small end")
    canvas.text(left + wide / 2, ceiling + high_px + 30, across, "dim mid")
    canvas.text(12, ceiling - 8, up, "dim")
    start, corner, end = at(2**low, slope * 2**low), at(ridge, peak), at(2**high, peak)
    path = f"M{_n(start[0])} {_n(start[1])}L{_n(corner[0])} {_n(corner[1])}L{_n(end[0])} {_n(end[1])}"
    canvas.parts.append(f"<path class='rim' style='stroke-width:2' d='{path}'/>")
    canvas.text(end[0] - 4, corner[1] - 8, f"{_number(peak)}, from {_number(ridge)} on", "dim end")
    words = []
    for name, x, reached in points:
        roof = min(peak, slope * x)
        y = roof if reached is None else reached
        px, py = at(x, y)
        canvas.parts.append(f"<circle class='{'soft' if reached is None else 'warm'}' cx='{_n(px)}' cy='{_n(py)}' r='6'/>")
        canvas.text(px + 8, py + 18, f"{name}: {'at most ' if reached is None else ''}{_number(y)}")
        words.append(f"{name}: {_number(x)} {across}, {'at most ' if reached is None else ''}{_number(y)} {up} ({100 * y / peak:.0f} % of the peak)")
    return canvas.picture(
        f"{title + ': ' if title else ''}the roof rises by {_number(slope)} for each of {across} up to {_number(peak)} {up}. {'; '.join(words)}."
    )


def outer_product(tile: int = 4) -> Picture:
    """A thread's tile of sums: `tile` floats of a and as many of b, each used `tile` times. Raises ValueError for a tile outside 1 to 8."""
    if not 1 <= tile <= 8:
        raise ValueError("outer_product draws 1 to 8 floats each way: pass a tile in between.")
    canvas, cell, gap, left, top = _Canvas(), 28, 14, 12, 34
    x0, y0 = left + cell + gap, top + cell + gap
    for k in range(tile):
        canvas.box(left, y0 + k * cell, cell, cell, "soft")
        canvas.text(left + cell / 2, y0 + (k + 0.6) * cell, f"r{k}", "on small mid")
        canvas.box(x0 + k * cell, top, cell, cell, "soft")
        canvas.text(x0 + (k + 0.5) * cell, top + 0.6 * cell, f"c{k}", "on small mid")
        for j in range(tile):
            canvas.box(x0 + j * cell, y0 + k * cell, cell, cell, "warm")
            canvas.text(x0 + (j + 0.5) * cell, y0 + (k + 0.6) * cell, f"{k},{j}", "on small mid")
    canvas.grid(x0, y0, tile, tile, cell, cell)
    canvas.grid(left, y0, 1, tile, cell, cell)
    canvas.grid(x0, top, tile, 1, cell, cell)
    canvas.text(left, 20, "one step k of one thread, all in registers", "ink head")
    verdict = f"{2 * tile} floats read, {tile * tile} multiply-adds: {2 / tile:.3g} floats for each"
    canvas.text(left, y0 + tile * cell + 22, verdict, "ink")
    return canvas.picture(f"{tile} floats of a beside {tile} x {tile} sums, {tile} floats of b above them; sum (i, j) gets r(i) times c(j). {verdict}.")


def _ticks(low: int, high: int) -> range:
    """Powers of two to label, at most nine."""
    return range(low, high + 1, max(1, math.ceil((high - low) / 8)))


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
