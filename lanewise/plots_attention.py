"""Pictures of tiled attention, in the manner of `plots`: SVG text from plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas

KINDS = {"whole": "soft", "masked": "warm", "skipped": "none"}


def flash_walk(states: Sequence[tuple[float, float]], query_tiles: int, block: int, title: str = "") -> Picture:
    """The score matrix in tiles, never stored: one block's row of tiles in the order of its walk, and below each tile the (m, l) of one of its queries.

    `states`: m and l after each key tile, of one row of tile `block` (from 0). Raises ValueError where there is no state or no such block.
    """
    if not states or not 0 <= block < query_tiles:
        raise ValueError(f"flash_walk needs a state for each key tile, and a block below {query_tiles}: pass both.")
    canvas, cell, left, top = _Canvas(), 62, 74, 84
    tiles = len(states)
    if title:
        canvas.text(12, 18, title, "ink head")
    for j in range(tiles):
        canvas.box(left + j * cell, top - 34, cell, 24, "warm")
        canvas.text(left + (j + 0.5) * cell, top - 18, f"K, V {j + 1}", "on small mid")
    canvas.grid(left, top - 34, tiles, 1, cell, 24)
    for i in range(query_tiles):
        y = top + i * 34
        canvas.box(left - 50, y, 40, 34, "warm" if i == block else "none")
        canvas.text(left - 30, y + 21, f"Q {i}", "on small mid" if i == block else "dim small mid")
        for j in range(tiles):
            canvas.box(left + j * cell, y, cell, 34, "soft" if i == block else "none")
            if i == block:
                canvas.text(left + (j + 0.5) * cell, y + 21, f"step {j + 1}", "on small mid")
        canvas.box(left + tiles * cell + 14, y, 40, 34, "warm" if i == block else "none")
        canvas.text(left + tiles * cell + 34, y + 21, f"O {i}", "on small mid" if i == block else "dim small mid")
    canvas.grid(left, top, tiles, query_tiles, cell, 34)
    bottom = top + query_tiles * 34 + 18
    for row, name in enumerate("ml"):
        canvas.text(left - 30, bottom + 16 * row, name, "ink head mid")
        for j, state in enumerate(states):
            canvas.text(left + (j + 0.5) * cell, bottom + 16 * row, f"{state[row]:.3f}", "ink mid")
    canvas.text(12, bottom + 42, f"Block {block} keeps Q {block} and walks along the keys; a tile of scores lives for one step.", "ink")
    told = "; ".join(f"after tile {j + 1}: m {m:.3f}, l {total:.3f}" for j, (m, total) in enumerate(states))
    return canvas.picture(
        f"{title + ': ' if title else ''}{query_tiles} x {tiles} tiles of scores. Block {block} keeps its queries and visits {tiles} tiles of keys. "
        f"One of its queries, {told}."
    )


def bytes_by_tile(rows: Sequence[tuple[str, float, float]], title: str = "") -> Picture:
    """Bytes asked of global memory, a bar a row: (label, counted, predicted); a mark stands where the formula says the bar ends.

    Raises ValueError where there is no row.
    """
    if not rows:
        raise ValueError("bytes_by_tile needs a row: pass (label, counted bytes, predicted bytes).")
    canvas, top, wide = _Canvas(), 34, 380
    left = 24 + round(7.3 * max(len(label) for label, _, _ in rows))
    peak = max(max(counted, predicted) for _, counted, predicted in rows) or 1
    if title:
        canvas.text(12, 18, title, "ink head")
    for number, (label, counted, predicted) in enumerate(rows):
        y = top + number * 22
        canvas.text(12, y + 13, label, "ink code")
        canvas.box(left, y + 2, wide * counted / peak, 14, "soft")
        canvas.box(left + wide * predicted / peak - 1, y - 1, 2, 20, "warm")
        canvas.text(left + wide * max(counted, predicted) / peak + 8, y + 13, f"{counted:,.0f}", "ink")
    off = sum(counted != predicted for _, counted, predicted in rows)
    verdict = "each bar ends at the formula's mark" if not off else f"{off} of {len(rows)} differ from the formula"
    canvas.text(12, top + len(rows) * 22 + 16, f"blue: counted; orange: the formula. {verdict[0].upper()}{verdict[1:]}.", "ink")
    words = "; ".join(f"{label.strip()}: {counted:,.0f}" for label, counted, _ in rows)
    return canvas.picture(f"{title + ': ' if title else ''}{words} bytes; {verdict}.")


def tile_map(Nq: int, Nk: int, Br: int, Bc: int, title: str = "") -> Picture:
    """Causal attention (aligned bottom-right) in tiles: which are visited whole, which cut the mask's edge, which are skipped.

    Raises ValueError for a size below 1.
    """
    if min(Nq, Nk, Br, Bc) < 1:
        raise ValueError("tile_map needs queries, keys and tiles of at least 1: pass positive numbers.")
    rows, cols = -(-Nq // Br), -(-Nk // Bc)
    canvas, cell, left, top = _Canvas(), min(34, 420 // max(rows, cols)), 84, 50
    count = dict.fromkeys(KINDS, 0)
    if title:
        canvas.text(12, 18, title, "ink head")
    for i in range(rows):
        first, last = i * Br, min((i + 1) * Br, Nq) - 1
        canvas.text(left - 8, top + (i + 0.6) * cell, f"{first} .. {last}", "dim small end")
        for j in range(cols):
            kind = causal_tile(first, last, j * Bc, min((j + 1) * Bc, Nk) - 1, Nk - Nq)
            count[kind] += 1
            canvas.box(left + j * cell, top + i * cell, cell, cell, KINDS[kind])
    for j in range(cols):
        canvas.text(left + (j + 0.5) * cell, top - 6, str(j * Bc), "dim small mid")
    canvas.grid(left, top, cols, rows, cell, cell)
    canvas.text(12, top - 6, "query / key", "dim small")
    words = f"{count['whole']} tiles need no mask (blue), {count['masked']} are cut by it (orange), {count['skipped']} are skipped (grey)"
    canvas.text(12, top + rows * cell + 20, words, "ink")
    return canvas.picture(f"{title + ': ' if title else ''}{Nq} queries, {Nk} keys, tiles of {Br} x {Bc}: {words}.")


def causal_tile(first_row: int, last_row: int, first_key: int, last_key: int, offset: int) -> str:
    """"whole", "masked" or "skipped": how much of a tile causal queries see. Query i sees keys up to i + offset."""
    if first_key > last_row + offset:
        return "skipped"
    return "whole" if last_key <= first_row + offset else "masked"


def shifts(workers: Sequence[Sequence[tuple[str, float]]], title: str = "") -> Picture:
    """Blocks on multiprocessors over time: for each multiprocessor its blocks in order, (label, duration). A bar ends where its work ends.

    Raises ValueError where there is no multiprocessor.
    """
    if not workers:
        raise ValueError("shifts needs a multiprocessor: pass a list of (label, duration) for each.")
    canvas, top, left, wide = _Canvas(), 34, 64, 520
    ends = [sum(duration for _, duration in blocks) for blocks in workers]
    latest = max(ends) or 1
    if title:
        canvas.text(12, 18, title, "ink head")
    for number, blocks in enumerate(workers):
        y, at = top + number * 26, 0.0
        canvas.text(12, y + 15, f"SM {number}", "dim")
        for label, duration in blocks:
            x, w = left + wide * at / latest, wide * duration / latest
            canvas.box(x, y, w, 20, "soft")
            canvas.box(x, y, w, 20, "rim")
            if w > 7 * len(label):
                canvas.text(x + w / 2, y + 14, label, "on small mid")
            at += duration
        if at < latest:
            canvas.box(left + wide * at / latest, y, wide * (latest - at) / latest, 20, "warm")
    busy = sum(ends) / (latest * len(workers))
    verdict = f"done after {latest:g}, busy {100 * busy:.0f} % of the time (orange: idle)"
    canvas.text(12, top + len(workers) * 26 + 16, verdict, "ink head")
    return canvas.picture(f"{title + ': ' if title else ''}{len(workers)} multiprocessors, {verdict}.")
