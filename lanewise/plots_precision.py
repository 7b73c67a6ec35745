"""Pictures of number formats: their bits, and how an error grows with the length of a sum. SVG text from plain numbers, in the manner of `plots`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas


def formats(rows: Sequence[tuple[str, int, int]], title: str = "") -> Picture:
    """Bits of floating-point formats, one row each: (name, bits of exponent, bits of fraction); a sign bit is in front of all.

    Raises ValueError for a format without exponent or fraction, or of more than 32 bits.
    """
    if not rows or any(exponent < 2 or fraction < 1 or 1 + exponent + fraction > 32 for _, exponent, fraction in rows):
        raise ValueError("formats draws formats of at most 32 bits: pass (name, bits of exponent from 2 on, bits of fraction from 1 on).")
    canvas, cell, high, left, top = _Canvas(), 15, 24, 74, 34 if title else 14
    if title:
        canvas.text(12, 18, title, "ink head")
    said = []
    for number, (name, exponent, fraction) in enumerate(rows):
        y = top + number * (high + 22)
        canvas.text(12, y + 16, name, "ink code")
        x = float(left)
        for bits, kind, word in ((1, "none", "s"), (exponent, "warm", f"{exponent} exponent"), (fraction, "soft", f"{fraction} fraction")):
            canvas.box(x, y, bits * cell, high, kind)
            canvas.text(x + bits * cell / 2, y + 16, word if bits >= 5 or bits == 1 else str(bits), ("ink" if kind == "none" else "on") + " small mid")
            x += bits * cell
        canvas.grid(left, y, 1 + exponent + fraction, 1, cell, high)
        largest = math.ldexp(2 - 2.0**-fraction, (1 << (exponent - 1)) - 1)
        words = f"largest number {_size(largest)}, relative error of a rounding up to 2^-{fraction + 1}"
        canvas.text(left, y + high + 13, words, "dim small")
        said.append(f"{name}: 1 bit of sign, {exponent} of exponent, {fraction} of fraction; {words}")
    return canvas.picture(f"{title + ': ' if title else ''}{'. '.join(said)}.")


def _size(value: float) -> str:
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}".replace("e+", "e")


def errors(lengths: Sequence[int], lines: Sequence[tuple[str, Sequence[float]]], title: str = "") -> Picture:
    """Relative errors over the length of a sum, both on logarithmic axes: one line for each of (name, one error a length). Both axes are powers of two.

    Raises ValueError for fewer than two lengths, an error that isn't positive and finite, or a line that is too long or too short.
    """
    if len(lengths) < 2 or any(len(line) != len(lengths) for _, line in lines) or not all(0 < e < math.inf for _, line in lines for e in line):
        raise ValueError("errors draws lines of positive errors, one for each of at least two lengths.")
    xs = [math.log2(n) for n in lengths]
    ys = [math.log2(e) for _, line in lines for e in line]
    low, high = math.floor(min(ys) / 4) * 4, math.ceil(max(ys) / 4) * 4
    canvas, left, top, wide, tall = _Canvas(), 60, 46, 400, 250
    if title:
        canvas.text(12, 18, title, "ink head")

    def at(x: float, y: float) -> tuple[float, float]:
        return left + (x - xs[0]) / (xs[-1] - xs[0]) * wide, top + (high - y) / (high - low) * tall

    for power in range(low, high + 1, 4):
        y = at(xs[0], power)[1]
        canvas.parts.append(f"<path class='rim' stroke-width='.4' d='M{left} {y:.1f}h{wide}'/>")
        canvas.text(left - 6, y + 4, f"2^{power}" if power else "1", "dim small end")
    for n, x in zip(lengths, xs, strict=True):
        canvas.text(at(x, low)[0], top + tall + 16, f"{n:,}", "dim small mid")
    canvas.text(left + wide / 2, top + tall + 34, "numbers in a sum", "dim small mid")
    canvas.text(12, top - 12, "relative error", "dim small")
    ends: list[float] = []
    for name, line in sorted(lines, key=lambda entry: -entry[1][-1]):
        points = [at(x, math.log2(e)) for x, e in zip(xs, line, strict=True)]
        canvas.parts.append("<path class='rim' stroke-width='1.6' d='M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "'/>")
        for x, y in points:
            canvas.box(x - 2.5, y - 2.5, 5, 5, "warm")
        place = max(points[-1][1], ends[-1] + 14) if ends else points[-1][1]  # names keep clear of one another
        ends.append(place)
        canvas.text(left + wide + 10, place + 4, name, "ink")
    words = "; ".join(f"{name}: {_power(line[0])} at {lengths[0]:,}, {_power(line[-1])} at {lengths[-1]:,}" for name, line in lines)
    return canvas.picture(f"{title + ': ' if title else ''}relative errors over the length of a sum. {words}.")


def _power(error: float) -> str:
    return f"2^{round(math.log2(error))}"
