"""Pictures of attention's backward pass, in the manner of `plots`: SVG text from plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import Picture, _Canvas


def jacobian(P: Sequence[float], dP: Sequence[float] = ()) -> Picture:
    """The Jacobian of one softmax row, J[j][k] = P[j] ((j == k) - P[k]), number by number; beside it dP and the product, if dP is given.

    Raises ValueError for fewer than 2 or more than 8 weights, or a dP of another length.
    """
    count = len(P)
    if not 2 <= count <= 8 or len(dP) not in (0, count):
        raise ValueError("jacobian draws 2 to 8 weights, and a dP as long as they are (or none).")
    canvas, cell, high, left, top = _Canvas(), 52, 26, 74, 64
    canvas.text(12, 18, "J[j][k] = P[j] * ((j == k) - P[k])", "ink code")
    matrix = [[P[j] * ((j == k) - P[k]) for k in range(count)] for j in range(count)]
    for j, row in enumerate(matrix):
        y = top + j * high
        canvas.text(12, y + 17, f"P = {P[j]:.2f}", "ink")
        canvas.text(left + (j + 0.5) * cell, top - 8, f"{P[j]:.2f}", "dim small mid")
        for k, value in enumerate(row):
            kind = "none" if abs(value) < 0.005 else "soft" if value > 0 else "warm"
            canvas.box(left + k * cell, y, cell, high, kind)
            canvas.text(left + (k + 0.5) * cell, y + 17, _signed(value), ("dim" if kind == "none" else "on") + " mid")
    canvas.grid(left, top, count, count, cell, high)
    words = "Blue: more of score k gives more of weight j. Orange: less. Each row and each column adds up to 0."
    said = ""
    if dP:
        dS = [sum(a * g for a, g in zip(row, dP, strict=True)) for row in matrix]
        x = left + count * cell + 34
        for place, name, column in ((x, "dP", dP), (x + cell + 34, "dS", dS)):
            canvas.text(place + cell / 2, top - 8, name, "ink head mid")
            for j, value in enumerate(column):
                canvas.box(place, top + j * high, cell, high, "none" if name == "dP" else "soft" if value > 0 else "warm")
                canvas.text(place + cell / 2, top + j * high + 17, _signed(value), ("ink" if name == "dP" else "on") + " mid")
            canvas.grid(place, top, 1, count, cell, high)
        canvas.text(x - 22, top + count * high / 2 + 4, "×", "ink")
        canvas.text(x + cell + 12, top + count * high / 2 + 4, "=", "ink")
        said = f" Times dP = {', '.join(_signed(v) for v in dP)} that is dS = {', '.join(_signed(v) for v in dS)}."
    canvas.text(12, top + count * high + 22, words, "ink")
    diagonal = ", ".join(_signed(matrix[j][j]) for j in range(count))
    return canvas.picture(
        f"A table of {count} x {count} numbers for the weights {', '.join(f'{p:.2f}' for p in P)}. The diagonal is {diagonal}, all else below 0.{said} {words}"
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def passes(query_tiles: int, key_tiles: int, offset: int | None = None) -> Picture:
    """Tiles of the scores, once for each pass: a block that keeps a tile of keys walks down, one that keeps a tile of queries walks across.

    `offset`: with a causal mask, query tile i sees key tiles up to i + offset; None: all of them. Tiles nobody sees are left out.
    Raises ValueError for fewer than 2 or more than 10 tiles each way.
    """
    if not (2 <= query_tiles <= 10 and 2 <= key_tiles <= 10):
        raise ValueError("passes draws 2 to 10 tiles each way: pass numbers in between.")
    canvas, cell, top, gap = _Canvas(), 26, 62, 110
    key, query = key_tiles // 2, query_tiles - 2
    walks: list[list[tuple[int, int]]] = []
    for side, name in ((0, "keys stay: dK and dV"), (1, "queries stay: dQ")):
        left = 52 + side * (key_tiles * cell + gap)
        canvas.text(left, 20, name, "ink head")
        canvas.text(left + key_tiles * cell / 2, top - 22, "keys →", "dim mid small")
        if side == 0:
            canvas.text(4, top + query_tiles * cell / 2, "queries", "dim small")
        walk: list[tuple[int, int]] = []
        for i in range(query_tiles):
            for j in range(key_tiles):
                seen = offset is None or j <= i + offset
                mine = j == key if side == 0 else i == query
                x, y = left + j * cell, top + i * cell
                canvas.box(x, y, cell, cell, "warm" if mine and seen else "soft" if seen else "none")
                if mine and seen:
                    canvas.text(x + cell / 2, y + 17, str(len(walk)), "on mid")
                    walk.append((i, j))
        walks.append(walk)
        canvas.grid(left, top, key_tiles, query_tiles, cell, cell)
        if side == 0:
            canvas.text(left + (key + 0.5) * cell, top - 6, "K, V", "ink small mid")
        else:
            canvas.text(left - 34, top + (query + 0.65) * cell, "Q, dO", "ink small")
    canvas.text(12, top + query_tiles * cell + 22, "Orange: the walk of one block. Blue: tiles of other blocks. Grey: masked, skipped.", "ink")
    return canvas.picture(
        f"Two grids of {query_tiles} x {key_tiles} tiles of scores, queries down, keys across. Left, a block keeps key tile {key} and visits "
        f"{len(walks[0])} tiles of queries, {walks[0][0][0] if walks[0] else 0} to {query_tiles - 1}: it owns their dK and dV. Right, a block keeps query "
        f"tile {query} and visits {len(walks[1])} tiles of keys: it owns dQ of its queries."
    )
