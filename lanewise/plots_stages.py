"""Tiles in stages of shared memory over time: on their way, in use."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas, _count

_WIDE, _TALL = 600, 24


def hidden(events: Sequence[Sequence[float]]) -> int:
    """How many tiles are on their way while another one is used; `events` as for `stage_timeline`."""
    return sum(any(u != t and begun < events[u][2] and events[u][1] < used for u in range(len(events))) for t, (begun, used, _) in enumerate(events))


def stage_timeline(events: Sequence[Sequence[float]], stages: int, unit: str = "steps", title: str = "") -> Picture:
    """One row a stage: tile t lies in stage t % stages. `events[t]` says when its copy began, when its use began and when that ended, in any unit.

    Soft: the tile is on its way or waits; warm: it is used. Raises ValueError where there is no tile, or one whose times don't rise.
    """
    if not events or stages < 1 or any(not begun <= used <= done for begun, used, done in events):
        raise ValueError("stage_timeline draws tiles as (copy begins, use begins, use ends), in this order of time: pass at least one, and stages >= 1.")
    first, last = min(begun for begun, _, _ in events), max(done for _, _, done in events)
    scale = _WIDE / ((last - first) or 1)
    canvas, left, top = _Canvas(), 74, 32
    if title:
        canvas.text(12, 18, title, "ink head")
    for stage in range(stages):
        y = top + stage * (_TALL + 6)
        canvas.text(12, y + 16, f"stage {stage}")
        canvas.box(left, y, _WIDE, _TALL, "none")
        for t in range(stage, len(events), stages):
            begun, used, done = ((time - first) * scale for time in events[t])
            canvas.box(left + begun, y, used - begun, _TALL, "soft")
            canvas.box(left + used, y, done - used, _TALL, "warm")
            canvas.box(left + begun, y, done - begun, _TALL, "rim")
            for start, end in ((begun, used), (used, done)):
                if end - start >= 12:
                    canvas.text(left + (start + end) / 2, y + 16, str(t), "on small mid")
    y = top + stages * (_TALL + 6) + 4
    for x, kind, words in ((left, "soft", "tile on its way"), (left + 150, "warm", "tile in use")):
        canvas.box(x, y, 12, 12, kind)
        canvas.text(x + 18, y + 10, words, "dim")
    canvas.text(left + _WIDE, y + 10, f"{last - first:g} {unit}", "dim end")
    verdict = f"{hidden(events)} of {_count(len(events), 'tile')} on the way while another one is used"
    canvas.text(left, y + 32, verdict, "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}{_count(stages, 'stage')}, {last - first:g} {unit}; {verdict}.")
