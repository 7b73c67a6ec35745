"""Who works when: the host's calls and the GPU's kernels on one time line, in the manner of `plots`."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas

Span = tuple[str, float, float, str]  # label, start, end (any unit), "soft" or "warm"


def timeline(rows: Sequence[tuple[str, Sequence[Span]]], marks: Sequence[tuple[str, float, float]] = (), title: str = "") -> Picture:
    """One row for each that works (its name and its spans), then one line for each of `marks`: (name, from, to), a stretch that a stopwatch measures.

    Raises ValueError for a span or a mark that ends before it starts.
    """
    stretches = [(start, end) for _, spans in rows for _, start, end, _ in spans] + [(start, end) for _, start, end in marks]
    if not stretches or any(end < start for start, end in stretches):
        raise ValueError("timeline draws spans that end after they start: pass at least one, as (label, start, end, kind).")
    canvas, top, tall, left = _Canvas(), 32, 26, 86
    scale = 560 / max(end for _, end in stretches)
    if title:
        canvas.text(12, 18, title, "ink head")
    for number, (name, spans) in enumerate(rows):
        y = top + number * (tall + 8)
        canvas.text(12, y + 17, name)
        for label, start, end, kind in spans:
            canvas.box(left + start * scale, y, (end - start) * scale, tall, kind)
            canvas.box(left + start * scale, y, (end - start) * scale, tall, "rim")
            canvas.text(left + (start + end) / 2 * scale, y + 17, label, "ink small mid" if kind == "none" else "on small mid")
    y = top + len(rows) * (tall + 8) + 8
    for number, (name, start, end) in enumerate(marks):
        at = y + number * 34
        canvas.box(left + start * scale, at, max(2, (end - start) * scale), 3, "warm")
        canvas.text(left + start * scale, at + 18, name, "ink")
    words = "; ".join(f"{name}: {', '.join(f'{label} from {start:g} to {end:g}' for label, start, end, _ in spans)}" for name, spans in rows)
    measured = "; ".join(f"{name}: from {start:g} to {end:g}" for name, start, end in marks)
    return canvas.picture(f"{title + ': ' if title else ''}{words}. {measured}{'.' if measured else ''}".strip())
