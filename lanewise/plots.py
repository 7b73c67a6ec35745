"""Pictures as SVG text with a description in words, from plain data: numbers in, `Picture` out.

The bytes depend on the data alone (no dates, no ids, no fonts measured), so a notebook's stored picture is equal on every machine.
A picture carries its own background and follows the reader's light or dark setting, so it reads on any page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

WARP = 32  # lanes
SECTOR = 32  # bytes: what global memory is asked for at once
BANKS = 32  # of 4 bytes each, in shared memory

# Colours that differ in lightness too, for readers who can't tell the hues apart. `soft` and `warm` carry text on them.
_STYLE = (
    "<style>"
    ".bg{fill:#fff}.ink{fill:#1f2328}.dim{fill:#656d76}.soft{fill:#9cc7f5}.warm{fill:#f2a65a}.none{fill:#eceff2}.rim{fill:none;stroke:#8c959f}"
    ".on{fill:#10243b}"
    "@media (prefers-color-scheme:dark){.bg{fill:#161b22}.ink{fill:#e6edf3}.dim{fill:#9aa4af}.soft{fill:#58a0ea}.none{fill:#2a313a}.rim{stroke:#6e7681}}"
    "text{font:12px system-ui,sans-serif}.code{font:12px ui-monospace,monospace;white-space:pre}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".small{font-size:9px}.head{font-weight:600}"
    "</style>"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG and what it shows in words. A notebook shows the picture, a terminal the words."""

    svg: str
    alt: str

    def __str__(self) -> str:
        return self.alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        # An image from a data address is shown in a notebook that isn't trusted yet, too; SVG written into the page is not.
        address = "data:image/svg+xml," + quote(self.svg, safe=" =:/;,()-.!*~@{}'")
        return f'<img alt="{escape(self.alt)}" src="{address}" style="max-width:100%">'


class _Canvas:
    """Collects shapes; `picture` frames them. Coordinates are pixels, whole or with one decimal."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.width = 0.0
        self.height = 0.0

    def box(self, x: float, y: float, w: float, h: float, kind: str) -> None:
        self.parts.append(f"<rect class='{kind}' x='{_n(x)}' y='{_n(y)}' width='{_n(w)}' height='{_n(h)}'/>")
        self._grow(x + w, y + h)

    def text(self, x: float, y: float, words: str, kind: str = "ink") -> None:
        self.parts.append(f"<text class='{kind}' x='{_n(x)}' y='{_n(y)}'>{escape(words, quote=False)}</text>")
        per_letter = 7.3 if "code" in kind else 6.6
        reach = 0 if "end" in kind else len(words) * per_letter / (2 if "mid" in kind else 1)
        self._grow(x + reach, y + 4)

    def grid(self, x: float, y: float, columns: int, rows: int, w: float, h: float) -> None:
        """Lines around columns × rows cells of w × h, as one path."""
        across = "".join(f"M{_n(x)} {_n(y + r * h)}h{_n(columns * w)}" for r in range(rows + 1))
        down = "".join(f"M{_n(x + c * w)} {_n(y)}v{_n(rows * h)}" for c in range(columns + 1))
        self.parts.append(f"<path class='rim' stroke-width='.4' d='{across}{down}'/>")
        self._grow(x + columns * w, y + rows * h)

    def _grow(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def picture(self, alt: str) -> Picture:
        w, h = _n(round(self.width + 12)), _n(round(self.height + 12))
        head = f"<svg xmlns='http://www.w3.org/2000/svg' role='img' width='{w}' height='{h}' viewBox='0 0 {w} {h}'>"
        frame = f"<rect class='bg' width='{w}' height='{h}' rx='6'/>"
        return Picture(f"{head}<title>{escape(alt, quote=False)}</title>{_STYLE}{frame}{''.join(self.parts)}</svg>", alt)


def cover(n: int, block: int, blocks: int) -> Picture:
    """`blocks` blocks of `block` threads laid beside n elements: who has no element, which element has no thread.

    Raises ValueError where there is nothing to draw.
    """
    threads = block * blocks
    if min(n, block, blocks) < 1:
        raise ValueError("cover needs at least one element, one block and one thread: pass positive numbers.")
    canvas, left, wide = _Canvas(), 84, 560 / max(n, threads)
    canvas.text(12, 40, "threads")
    for b in range(blocks):
        start, width = b * block, block
        inside = max(0, min(width, n - start))
        if inside:
            canvas.box(left + start * wide, 24, inside * wide, 24, "soft")
        if inside < width:
            canvas.box(left + (start + inside) * wide, 24, (width - inside) * wide, 24, "warm")
        canvas.box(left + start * wide, 24, width * wide, 24, "rim")
        if width * wide > 50:
            canvas.text(left + (start + width / 2) * wide, 40, f"block {b}", "on mid")
    canvas.text(12, 78, "elements")
    canvas.box(left, 62, min(n, threads) * wide, 24, "soft")
    if n > threads:
        canvas.box(left + threads * wide, 62, (n - threads) * wide, 24, "warm")
    canvas.box(left, 62, n * wide, 24, "rim")
    canvas.text(left, 14, "0", "dim small")
    if n > threads:
        verdict = f"{n - threads} elements without a thread: {threads} .. {n - 1}"
    elif n < threads:
        verdict = f"{threads - n} threads without an element: {n} .. {threads - 1}"
    else:
        verdict = "as many threads as elements"
    canvas.text(left, 106, verdict, "ink head")
    return canvas.picture(f"{_count(blocks, 'block')} of {_count(block, 'thread')} = {threads} threads, {_count(n, 'element')}: {verdict}.")


def lanes(steps: Sequence[tuple[str, Sequence[int]]], title: str = "") -> Picture:
    """A warp's timeline: one row a step (its label, the lanes that work in it), time runs down.

    Raises ValueError for a lane outside 0 .. 31.
    """
    if any(not 0 <= lane < WARP for _, active in steps for lane in active):
        raise ValueError("lanes are numbered 0 .. 31: pass the numbers of the lanes that work in each step.")
    canvas, size, top = _Canvas(), 16, 44
    if title:
        canvas.text(12, 18, title, "ink head")
    left = 24 + round(7.3 * max((len(label) for label, _ in steps), default=0))
    for lane in range(0, WARP, 4):
        canvas.text(left + (lane + 0.5) * size, top - 6, str(lane), "dim small mid")
    for row, (label, active) in enumerate(steps):
        y = top + row * (size + 2)
        canvas.text(12, y + 12, label, "ink code")
        for first, last, works in _runs(sorted(set(active))):
            canvas.box(left + first * size, y, (last - first + 1) * size, size, "soft" if works else "none")
        canvas.grid(left, y, WARP, 1, size, size)
        canvas.text(left + WARP * size + 8, y + 12, f"{len(set(active))} of 32", "dim")
    total = sum(len(set(active)) for _, active in steps)
    share = total / (WARP * len(steps)) if steps else 0
    words = "; ".join(f"{label.strip()}: {len(set(active))} of 32 lanes" for label, active in steps)
    canvas.text(left, top + len(steps) * (size + 2) + 16, f"busy: {100 * share:.0f} % of the lane steps", "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}{words}. Busy: {100 * share:.0f} % of the lane steps.")


def sectors(addresses: Sequence[int], size: int = 4, title: str = "") -> Picture:
    """One request of a warp to global memory: `addresses[lane]` in bytes, `size` bytes a lane. Touched sectors of 32 bytes in order of address.

    At most 32 sectors are drawn in full; what lies between touched ones is left out. Raises ValueError for more than 32 addresses.
    """
    if not 0 < len(addresses) <= WARP:
        raise ValueError("sectors draws one request of a warp: pass 1 to 32 addresses, one a lane.")
    base = min(addresses) // SECTOR
    owners: dict[int, list[int]] = {}
    for lane, address in enumerate(addresses):
        for sector in range(address // SECTOR, (address + size - 1) // SECTOR + 1):
            owners.setdefault(sector - base, []).append(lane)
    canvas, width, per_row, top = _Canvas(), 76, 8, 30
    if title:
        canvas.text(12, 18, title, "ink head")
    for place, sector in enumerate(sorted(owners)):
        x, y = 12 + place % per_row * (width + 4), top + place // per_row * 40
        used = {byte for lane in owners[sector] for byte in range(addresses[lane], addresses[lane] + size) if byte // SECTOR - base == sector}
        canvas.box(x, y, width, 18, "warm" if len(used) < SECTOR else "soft")
        canvas.box(x, y, width, 18, "rim")
        canvas.text(x + width / 2, y + 13, _lane_words(owners[sector]), "on small mid")
        canvas.text(x + width / 2, y + 29, f"byte {sector * SECTOR}", "dim small mid")
    wanted = len({byte for address in addresses for byte in range(address, address + size)})
    fetched = len(owners) * SECTOR
    verdict = f"{_count(len(owners), 'sector')} = {fetched} bytes moved, {wanted} wanted"
    canvas.text(12, top + (len(owners) + per_row - 1) // per_row * 40 + 14, verdict, "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}one request of {_count(len(addresses), 'lane')}: {verdict}.")


def banks(words: Sequence[int], wide: int = 1, title: str = "") -> Picture:
    """One request of a warp to shared memory: `words[lane]` is the index of the 4-byte word where the lane's access begins, `wide` words (1, 2, 4) long.

    One column a bank; the lanes that want different words of one bank stand below each other, one pass a row. Of a 2- or 4-word access the first half
    or quarter of the warp is drawn, which is served together. Raises ValueError for another width or more than 32 words.
    """
    if wide not in (1, 2, 4) or not 0 < len(words) <= WARP:
        raise ValueError("banks draws one request of a warp: pass 1 to 32 word indices, and 1, 2 or 4 words a lane.")
    together = list(words)[: WARP // wide]
    rows: list[dict[int, tuple[int, list[int]]]] = []  # per pass: bank → (word, lanes)
    for lane, word in enumerate(together):
        for part in range(word, word + wide):
            bank = part % BANKS
            row = next((r for r in rows if bank not in r or r[bank][0] == part), None)
            if row is None:
                row = {}
                rows.append(row)
            row.setdefault(bank, (part, []))[1].append(lane)
    canvas, w, h, left, top = _Canvas(), 19, 15, 70, 46
    if title:
        canvas.text(12, 18, title, "ink head")
    canvas.text(12, top - 6, "bank", "dim small")
    for bank in range(0, BANKS, 4):
        canvas.text(left + (bank + 0.5) * w, top - 6, str(bank), "dim small mid")
    for number, row in enumerate(rows):
        if number < 2 or number == len(rows) - 1:
            canvas.text(12, top + (number + 0.8) * h, f"pass {number + 1}", "dim small")
        for bank, (_, who) in sorted(row.items()):
            canvas.box(left + bank * w, top + number * h, w, h, "soft" if number == 0 else "warm")
            canvas.text(left + (bank + 0.5) * w, top + (number + 0.75) * h, str(who[0]) if len(who) == 1 else f"{who[0]}+", "on small mid")
    canvas.grid(left, top, BANKS, len(rows), w, h)
    whole = "" if wide == 1 else f" (the first {len(together)} lanes)"
    used = len({bank for row in rows for bank in row})
    verdict = f"{_count(len(rows), 'pass', 'passes')}{whole}, {_count(used, 'bank')} in use"
    canvas.text(left, top + len(rows) * h + 18, verdict, "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}one request of {_count(len(words), 'lane')} to shared memory: {verdict}.")


def through_tile(row: int = 2, column: int = 5, size: int = 8) -> Picture:
    """A transpose through a tile of shared memory: one warp fills `row` of the tile, one warp empties `column`.

    Raises ValueError where row or column isn't below `size`.
    """
    if not (0 <= row < size and 0 <= column < size):
        raise ValueError(f"through_tile draws {size} rows and columns: pass a row and a column below that.")
    canvas, cell, top, gap = _Canvas(), 20, 44, 90
    places = [12 + k * (size * cell + gap) for k in range(3)]
    rows = [(places[0], row, "soft"), (places[1], row, "soft"), (places[2], column, "warm")]
    for x, which, kind in rows:
        canvas.box(x, top + which * cell, size * cell, cell, kind)
    canvas.box(places[1] + column * cell, top, cell, size * cell, "warm")
    for name, note, x in zip(("in", "tile", "out"), ("global memory", "shared memory", "global memory"), places, strict=True):
        canvas.text(x, 20, name, "ink head")
        canvas.text(x, 36, note, "dim")
        canvas.grid(x, top, size, size, cell, cell)
    for x, which, _ in rows:
        for lane in range(size):
            if x != places[1] or lane != column:
                canvas.text(x + (lane + 0.5) * cell, top + (which + 0.7) * cell, str(lane), "on small mid")
    for lane in range(size):
        canvas.text(places[1] + (column + 0.5) * cell, top + (lane + 0.7) * cell, str(lane), "on small mid")
    for k, words in ((0, "row to row"), (1, "column to row")):
        middle = places[k] + size * cell + gap / 2
        canvas.text(middle, top + size * cell / 2 - 8, words, "dim mid small")
        canvas.text(middle, top + size * cell / 2 + 8, "───►", "ink mid")
    canvas.text(12, top + size * cell + 20, "The numbers are lanes: of the warp that reads (blue), of the warp that writes (orange).", "ink")
    return canvas.picture(
        f"Three grids. A warp reads row {row} of in, lane after lane, and stores it as row {row} of the tile. After the barrier another warp takes "
        f"column {column} of the tile, and writes it as row {column} of out, lane after lane."
    )


def heat(source: str, amounts: Mapping[int, float], unit: str = "", title: str = "") -> Picture:
    """A kernel's lines, each with its amount as a number and a bar: `amounts` maps a line number (from 1) to it. The contract head is left out.

    Use it with a report: heat(report.source, {n: c.global_sectors for n, c in report.by_line.items()}, "sectors").
    """
    lines = source.expandtabs(4).splitlines()
    start = next((i for i, line in enumerate(lines) if "__global__" in line), 0)
    peak = max(amounts.values(), default=0)
    # The number stands beside its bar: nobody has to read a colour.
    canvas, top, left, bar = _Canvas(), 30, 80, 90
    if title:
        canvas.text(12, 18, title, "ink head")
    for row, text in enumerate(lines[start:]):
        number, y = start + row + 1, top + row * 17
        amount = amounts.get(number, 0)
        if amount:
            canvas.text(left - 6, y + 12, f"{amount:,.4g}" if isinstance(amount, float) else f"{amount:,}", "ink end")
            canvas.box(left, y + 2, max(1, bar * amount / peak), 13, "warm")
        canvas.text(left + bar + 34, y + 12, str(number), "dim end")
        canvas.text(left + bar + 42, y + 12, text, "ink code")
    hot = max(amounts, key=lambda n: (amounts[n], -n), default=0) if peak else 0
    where = f"most on line {hot}: {amounts[hot]:,}" if hot else "0 on every line"
    return canvas.picture(f"{title + ': ' if title else ''}{unit or 'amounts'} by source line, {where}.")


def _runs(active: list[int]) -> list[tuple[int, int, bool]]:
    """0 .. 31 as runs (first, last, works)."""
    runs: list[tuple[int, int, bool]] = []
    inside = set(active)
    for lane in range(WARP):
        works = lane in inside
        if runs and runs[-1][2] == works:
            runs[-1] = (runs[-1][0], lane, works)
        else:
            runs.append((lane, lane, works))
    return runs


def _lane_words(who: list[int]) -> str:
    """"lanes 0–7", "lane 3", "lanes 0, 4, …"."""
    numbers = sorted(set(who))
    if len(numbers) == 1:
        return f"lane {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"lanes {numbers[0]}–{numbers[-1]}"
    return f"lanes {numbers[0]}, {numbers[1]}{', …' if len(numbers) > 2 else ''}"


def _count(n: int, word: str, several: str = "") -> str:
    return f"{n} {word}" if n == 1 else f"{n} {several or word + 's'}"


def _n(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
