"""Who waits when: attention's tiles on the three units of a multiprocessor, worked out from what each step costs, and drawn over time.

A model, not a measurement: a unit works at its full rate, and everything else costs nothing. It shows what an order of work allows at best.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.plots import Picture, _Canvas

UNITS = ("copy engine", "tensor cores", "exp units")
_WIDE, _TALL, _LEFT = 620, 26, 104


@dataclass(frozen=True)
class Costs:
    """Cycles of a unit, for one key tile: bringing K, or V; for one warpgroup's 64 rows Q Kᵀ, the softmax, P V."""

    copy: int
    scores: int
    softmax: int
    values: int


@dataclass(frozen=True)
class Span:
    """From `start` to `end` a unit works for warpgroup `who` (−1: for all) on `step` ("K", "V", "S", "P" or "O") of key tile `tile`."""

    unit: str
    who: int
    step: str
    tile: int
    start: int
    end: int


@dataclass
class _Task:
    unit: str
    who: int
    step: str
    tile: int
    left: int
    waits: int = 0  # tasks it needs that aren't done
    part: int = 0  # cycles that it gets at a time


def timetable(costs: Costs, tiles: int, warpgroups: int = 2, stages: int = 2, alike: bool = False, turns: bool = False, overlap: bool = False) -> list[Span]:
    """When each unit does what, for one block. K and V have `stages` places each; tiles come as soon as their place is free, in the order K0, K1, V0, K2, V1

    `alike`: all warps meet after every tile (none is apart to load). `turns`: what a unit has begun for a warpgroup it ends before it serves another one;
    else it does a quarter of a task at a time for each. `overlap`: S of the next tile is begun before O of this one.

    Raises ValueError for less than two stages or no tile.
    """
    if stages < 2 or tiles < 1 or warpgroups < 1:
        raise ValueError("timetable wants at least two stages, a tile and a warpgroup: timetable(costs, tiles=6).")
    tasks: dict[tuple[str, int, int], _Task] = {}
    needs: dict[tuple[str, int, int], list[tuple[str, int, int]]] = {}

    def add(unit: int, who: int, step: str, tile: int, cycles: int, after: Sequence[tuple[str, int, int]]) -> None:
        tasks[step, who, tile] = _Task(UNITS[unit], who, step, tile, cycles)
        needs[step, who, tile] = [one for one in after if one[2] >= 0]

    everyone = range(warpgroups)
    for n in range(tiles):
        add(0, -1, "K", n, costs.copy, [("V", -1, n - 2) if n > 1 else ("K", -1, n - 1), *[("O" if alike else "S", w, n - stages) for w in everyone]])
        add(0, -1, "V", n, costs.copy, [("K", -1, min(n + 1, tiles - 1)), *[("O", w, n - stages) for w in everyone]])
        for w in everyone:
            before = [("P" if overlap else "O", w, n - 1)] + [("O", w, n - 2)] * overlap
            met = [("O", other, n - 1) for other in everyone] * alike
            add(1, w, "S", n, costs.scores, [("K", -1, n), *before, *met])
            add(2, w, "P", n, costs.softmax, [("S", w, n), ("P", w, n - 1)])
            add(1, w, "O", n, costs.values, [("P", w, n), ("V", -1, n), ("O", w, n - 1), *([("S", w, n + 1)] if overlap and n + 1 < tiles else [])])
    return _run(tasks, needs, parts=1 if turns else 4)


def _run(tasks: dict, needs: dict, parts: int) -> list[Span]:
    """Each unit serves who is ready, first come first served, a task in `parts` parts."""
    after: dict[tuple[str, int, int], list[_Task]] = {key: [] for key in tasks}
    for key, task in tasks.items():
        task.waits, task.part = len(needs[key]), max(1, -(-task.left // parts))
        for one in needs[key]:
            after[one].append(task)
    queues = {unit: deque(task for task in tasks.values() if task.unit == unit and not task.waits) for unit in UNITS}
    busy: dict[str, tuple[int, int, _Task]] = {}
    spans: list[Span] = []
    now = 0
    while busy or any(queues.values()):
        for unit in UNITS:
            if unit not in busy and queues[unit]:
                task = queues[unit].popleft()
                busy[unit] = (now, now + min(task.left, task.part), task)
        now = min(end for _, end, _ in busy.values())
        for unit in UNITS:
            if unit in busy and busy[unit][1] == now:
                start, end, task = busy.pop(unit)
                _note(spans, Span(unit, task.who, task.step, task.tile, start, end))
                task.left -= end - start
                if task.left:
                    queues[unit].append(task)
                    continue
                for one in after[task.step, task.who, task.tile]:
                    one.waits -= 1
                    if not one.waits:
                        queues[one.unit].append(one)
    return spans


def _note(spans: list[Span], new: Span) -> None:
    """Add it, as the continuation of the same unit's last one where it is."""
    for i in range(len(spans) - 1, -1, -1):
        old = spans[i]
        if old.unit == new.unit:
            if old.end == new.start and (old.who, old.step, old.tile) == (new.who, new.step, new.tile):
                spans[i] = Span(old.unit, old.who, old.step, old.tile, old.start, new.end)
                return
            break
    spans.append(new)


def busy_share(spans: Sequence[Span], unit: str = "tensor cores") -> float:
    """The share of the time, from the first start to the last end, in which a unit works."""
    whole = max(span.end for span in spans) - min(span.start for span in spans)
    return sum(span.end - span.start for span in spans if span.unit == unit) / whole


def timeline(tables: Sequence[tuple[str, Sequence[Span]]], title: str = "") -> Picture:
    """One row a unit, for each of (name, spans), all in one scale of time. Gaps are waits. Soft: warpgroup 0, or a copy; warm: warpgroup 1; rim alone: others.

    Raises ValueError where there is nothing to draw.
    """
    if not tables or any(not spans for _, spans in tables):
        raise ValueError("timeline draws pairs of a name and the spans that timetable returns: pass at least one.")
    last = max(span.end for _, spans in tables for span in spans)
    canvas, y, scale = _Canvas(), 34 if title else 10, _WIDE / last
    if title:
        canvas.text(12, 18, title, "ink head")
    said = []
    for name, spans in tables:
        end = max(span.end for span in spans)
        verdict = f"{end:,} cycles, tensor cores busy {busy_share(spans):.0%}"
        canvas.text(12, y + 12, f"{name}: {verdict}", "ink")
        said.append(f"{name}: {verdict}")
        y += 20
        for unit in UNITS:
            canvas.text(12, y + 17, unit, "dim")
            canvas.box(_LEFT, y, end * scale, _TALL, "none")
            for span in spans:
                if span.unit == unit:
                    x, wide = _LEFT + span.start * scale, (span.end - span.start) * scale
                    canvas.box(x, y, wide, _TALL, {-1: "soft", 0: "soft", 1: "warm"}.get(span.who, "none"))
                    canvas.box(x, y, wide, _TALL, "rim")
                    if wide >= 18:
                        canvas.text(x + wide / 2, y + 17, f"{span.step}{span.tile}", ("on" if span.who < 2 else "ink") + " small mid")
            y += _TALL + 2
        y += 10
    for x, kind, words in ((_LEFT, "soft", "a copy, or warpgroup 0"), (_LEFT + 190, "warm", "warpgroup 1"), (_LEFT + 310, "none", "waits")):
        canvas.box(x, y, 12, 12, kind)
        canvas.text(x + 18, y + 10, words, "dim")
    return canvas.picture(f"{title + ': ' if title else ''}{'; '.join(said)}.")
