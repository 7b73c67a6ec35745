"""Pictures of softmax and attention as sums: a running state, halves that are joined, what three kernels carry to memory and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas

_WIDE, _LEFT = 74, 96


def running(scores: Sequence[float], title: str = "") -> Picture:
    """The running maximum m and sum l of `scores`, key after key: l as a pile of its terms exp(score - m), the newest on top.

    A new maximum shrinks the pile below it. Raises ValueError for no score, more than 9, or one that isn't finite.
    """
    if not 1 <= len(scores) <= 9 or not all(map(math.isfinite, scores)):
        raise ValueError("running draws 1 to 9 finite scores: pass fewer, or finite ones.")
    most = max(sum(math.exp(s - max(scores[: j + 1])) for s in scores[: j + 1]) for j in range(len(scores)))
    unit = min(44, 150 / most)  # pixels of a term of 1
    canvas, floor = _Canvas(), round(36 + max(unit * most, 60))
    if title:
        canvas.text(12, 18, title, "ink head")
    for down, word in ((-60, "l, as a pile of"), (-44, "exp(score - m)"), (24, "score"), (44, "m"), (64, "shrink"), (84, "l")):
        canvas.text(12, floor + down, word, "dim")
    said, m, total = [], -math.inf, 0.0
    for j, score in enumerate(scores):
        new = max(m, score)
        shrink = math.exp(m - new)
        total = total * shrink + math.exp(score - new)
        x, y = float(_LEFT + j * _WIDE), float(floor)
        for i, earlier in enumerate(scores[: j + 1]):
            height = unit * math.exp(earlier - new)
            y -= height
            canvas.box(x + 8, y, _WIDE - 24, height, "warm" if i == j else "soft")
            canvas.box(x + 8, y, _WIDE - 24, height, "rim")
        middle = x + _WIDE / 2 - 4
        for down, words, bold in ((24, f"{score:g}", False), (44, f"{new:g}", new > m), (64, f"× {shrink:.3f}", shrink < 1), (84, f"{total:.3f}", False)):
            canvas.text(middle, floor + down, words, "ink mid head" if bold else "ink mid")
        said.append(f"score {score:g}: m {new:g}, l {total:.3f}")
        m = new
    canvas.text(12, floor + 108, "Orange is the newest key's term. Where m grows (bold), all terms below it shrink by one factor.", "ink")
    return canvas.picture(f"{title + ': ' if title else ''}{'; '.join(said)}.")


def joined(states: Sequence[tuple[float, float]], title: str = "") -> Picture:
    """A tree that joins 2, 4 or 8 softmax states (m, l) pair by pair; an empty part is (-inf, 0). Raises ValueError for another number."""
    if len(states) not in (2, 4, 8):
        raise ValueError(f"joined draws 2, 4 or 8 states, not {len(states)}: pass a power of two.")
    canvas, w, top, step = _Canvas(), 84, 40, 62
    if title:
        canvas.text(12, 18, title, "ink head")
    row, places, said = list(states), [12 + (i + 0.5) * (w + 6) for i in range(len(states))], []
    level = 0
    while True:
        y = top + level * step
        for (m, l), x in zip(row, places, strict=True):  # noqa: E741
            canvas.box(x - w / 2, y, w, 32, "none" if l == 0 else "warm" if len(row) == 1 else "soft")
            canvas.box(x - w / 2, y, w, 32, "rim")
            kind = "ink" if l == 0 else "on"
            canvas.text(x, y + 13, f"m {_number(m)}", f"{kind} small mid")
            canvas.text(x, y + 26, f"l {l:.3f}", f"{kind} small mid")
        said.append(", ".join(f"({_number(state[0])}, {state[1]:.3f})" for state in row))
        if len(row) == 1:
            break
        above = [(a + b) / 2 for a, b in zip(places[::2], places[1::2], strict=True)]
        for i, x in enumerate(places):
            canvas.parts.append(f"<path class='rim' d='M{x:.1f} {y + 32}L{above[i // 2]:.1f} {y + step}'/>")
        row = [join(a, b) for a, b in zip(row[::2], row[1::2], strict=True)]
        places, level = above, level + 1
    canvas.text(12, top + level * step + 56, "Each box is the state of all keys above it. A grey box has none: (-inf, 0) changes nothing.", "ink")
    return canvas.picture(f"{title + ': ' if title else ''}states (m, l), level after level: {'; '.join(said)}.")


def join(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """The state of all keys of a and of b; two empty parts make an empty one."""
    m = max(a[0], b[0])
    return (m, 0.0) if m == -math.inf else (m, a[1] * math.exp(a[0] - m) + b[1] * math.exp(b[0] - m))


def round_trips(steps: Sequence[tuple[str, Sequence[tuple[str, int]], Sequence[tuple[str, int]]]], title: str = "") -> Picture:
    """Kernels one below the other, each with (name, bytes) of what it reads from memory and what it writes there. Widths are shares of the largest.

    Raises ValueError where there is no kernel or an amount is below 0.
    """
    amounts = [amount for _, reads, writes in steps for _, amount in [*reads, *writes]]
    if not amounts or min(amounts) < 0:
        raise ValueError("round_trips needs at least one kernel that reads or writes something, in bytes from 0.")
    canvas, peak, y, bar = _Canvas(), max(amounts), 44, 150
    middle = 12 + bar + 110
    if title:
        canvas.text(12, 18, title, "ink head")
    canvas.text(12, 36, "reads", "dim")
    canvas.text(middle + 130, 36, "writes", "dim")
    for name, reads, writes in steps:
        height = 24 * max(len(reads), len(writes), 1)
        canvas.box(middle, y, 90, height, "none")
        canvas.box(middle, y, 90, height, "rim")
        canvas.text(middle + 45, y + height / 2 + 4, name, "ink mid")
        for side, moved in ((12, reads), (middle + 130, writes)):
            for k, (array, amount) in enumerate(moved):
                canvas.box(side, y + k * 24 + 4, max(1, bar * amount / peak), 14, "warm" if amount * 2 > peak else "soft")
                canvas.text(side + bar * amount / peak + 6, y + k * 24 + 15, f"{array} {_bytes(amount)}", "ink")
        y += height + 18
    total = sum(amounts)
    canvas.text(12, y + 8, f"together {_bytes(total)}", "ink head")
    words = "; ".join(f"{name} reads {_list(reads)} and writes {_list(writes)}" for name, reads, writes in steps)
    return canvas.picture(f"{title + ': ' if title else ''}{words}. Together {_bytes(total)}.")


def _list(moved: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{array} ({_bytes(amount)})" for array, amount in moved) or "nothing"


def _bytes(amount: int) -> str:
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if amount >= size:
            return f"{amount / size:.4g} {unit}"
    return f"{amount} B"


def _number(value: float) -> str:
    return "-inf" if value == -math.inf else f"{value:.4g}"
