"""Pictures of fragments: which lane of a warp holds which element of a matrix, in which register. SVG text from a kernel's own arrays.

A map is a matrix of whole numbers, lane + 32 · register, as `ch19_fragment_map` writes it. Neighbours that one lane holds are drawn as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.plots import WARP, Picture, _Canvas

Map = Sequence[Sequence[int]]
CELL = 17  # pixels


def product(A: Map, B: Map, C: Map, lane: int = 0) -> Picture:
    """The three fragments of C = A B as they meet: B above C, A beside it. Every element shows its lane; those of `lane` are orange and show their register.

    A: (m, k), B: (k, n), C: (m, n). Raises ValueError where these shapes don't meet or the lane holds nothing.
    """
    a, b, c = (_checked(matrix, lane) for matrix in (A, B, C))
    if len(a[0]) != len(b) or len(c) != len(a) or len(c[0]) != len(b[0]):
        raise ValueError("product draws C = A B: pass maps of m x k, k x n and m x n elements.")
    canvas, gap, left, top = _Canvas(), 26, 14, 44
    right, below = left + len(b) * CELL + gap, top + len(b) * CELL + gap
    canvas.text(left, 20, f"one warp; orange: lane {lane}", "ink head")
    _draw(canvas, a, lane, "A", left, below)
    _draw(canvas, b, lane, "B", right, top)
    _draw(canvas, c, lane, "C", right, below)
    said = "; ".join(_held(matrix, lane, name) for name, matrix in (("A", a), ("B", b), ("C", c)))
    shapes = ", ".join(f"{name} of {len(matrix)} x {len(matrix[0])}" for name, matrix in (("A", a), ("B", b), ("C", c)))
    return canvas.picture(f"Who holds what of C = A B in one warp, {shapes}. Lane {lane}: {said}.")


def reused(C: Map, A: Map, lane: int = 0) -> Picture:
    """Fragments of C side by side, as many as A is wide, and beside them the fragment A of the next product: for each pair of elements the same lane.

    Raises ValueError where the widths don't fit or a lane would have to send an element to another one.
    """
    c, a = _checked(C, lane), _checked(A, lane)
    if len(c) != len(a) or len(a[0]) % len(c[0]):
        raise ValueError("reused draws fragments of C side by side: A has as many rows, and its width is a multiple of C's.")
    wide = [[code for _ in range(len(a[0]) // len(c[0])) for code in row] for row in c]
    if any(x % WARP != y % WARP for row, other in zip(wide, a, strict=True) for x, y in zip(row, other, strict=True)):
        raise ValueError("Here a lane would have to send elements to another one: these fragments can't be reused in place.")
    canvas, left, top, gap = _Canvas(), 14, 62, 60
    count, width = len(a[0]) // len(c[0]), len(c[0]) * CELL
    canvas.text(left, 20, f"what lane {lane} holds", "ink head")
    for number in range(count):
        _draw(canvas, c, lane, f"C{number}", left + number * width, top, prefix=f"c{number}.")
    middle = left + count * width
    canvas.text(middle + gap / 2, top + len(c) * CELL / 2, "→", "ink head mid")
    _draw(canvas, a, lane, "A", middle + gap, top)
    said = "; ".join(
        f"C{number}, columns {number * len(c[0])} to {(number + 1) * len(c[0]) - 1}: {_held(c, lane, f'c{number}.', number)}" for number in range(count)
    )
    return canvas.picture(
        f"{count} fragments of C side by side, and one of A, {len(a)} x {len(a[0])} elements each. Every element is in the same lane in both. "
        f"Lane {lane}: {said}; as A: {_held(a, lane, 'A')}."
    )


def _checked(matrix: Map, lane: int) -> list[list[int]]:
    rows = [[int(code) for code in row] for row in matrix]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows) or any(code < 0 for row in rows for code in row):
        raise ValueError("A map is a matrix of lane + 32 * register: pass rows of equal length, without negative numbers.")
    if not any(code % WARP == lane for row in rows for code in row):
        raise ValueError(f"Lane {lane} holds nothing of this matrix: pass a lane from 0 to 31 that does.")
    return rows


def _pieces(matrix: list[list[int]]) -> list[tuple[int, int, int, int, int, list[int]]]:
    """Neighbours of one lane as one piece: (row, column, rows, columns, lane, registers); pairs across or down."""
    pieces, done = [], set()
    height, width = len(matrix), len(matrix[0])
    for i in range(height):
        for j in range(width):
            if (i, j) in done:
                continue
            lane = matrix[i][j] % WARP
            across = j + 1 < width and matrix[i][j + 1] % WARP == lane
            down = not across and i + 1 < height and matrix[i + 1][j] % WARP == lane
            places = [(i, j), *([(i, j + 1)] if across else []), *([(i + 1, j)] if down else [])]
            done.update(places)
            pieces.append((i, j, 1 + down, 1 + across, lane, [matrix[y][x] // WARP for y, x in places]))
    return pieces


def _draw(canvas: _Canvas, matrix: list[list[int]], lane: int, name: str, left: float, top: float, prefix: str = "") -> None:
    rows, columns = len(matrix), len(matrix[0])
    canvas.text(left + columns * CELL / 2, top - 7, f"{name}: {rows} × {columns}", "ink mid")
    canvas.box(left, top, columns * CELL, rows * CELL, "none")
    outlines = ""
    for i, j, down, across, owner, registers in _pieces(matrix):
        x, y, wide, tall = left + j * CELL, top + i * CELL, across * CELL, down * CELL
        near = owner // 4 == lane // 4  # of the same group of four lanes
        if near:
            canvas.box(x, y, wide, tall, "warm" if owner == lane else "soft")
        words = _registers(prefix or name.lower(), registers) if owner == lane else str(owner)
        canvas.text(x + wide / 2, y + tall / 2 + 3.5, words, f"{'on' if near else 'dim'} small mid")
        outlines += f"M{x:g} {y:g}h{wide}v{tall}h-{wide}z"
    canvas.parts.append(f"<path class='rim' stroke-width='.6' d='{outlines}'/>")


def _registers(prefix: str, registers: list[int]) -> str:
    """a0 for a pair in one register; c0 1 for two registers."""
    return " ".join([f"{prefix}{registers[0]}", *(str(r) for r in registers[1:] if r != registers[0])])


def _held(matrix: list[list[int]], lane: int, prefix: str, shift: int = 0) -> str:
    """What a lane holds, in words."""
    found = []
    for i, j, down, across, owner, registers in _pieces(matrix):
        if owner == lane:
            j += shift * len(matrix[0])
            rows = f"row {i}" if down == 1 else f"rows {i} and {i + 1}"
            columns = f"column {j}" if across == 1 else f"columns {j} and {j + 1}"
            found.append(f"{_registers(prefix.lower(), registers)} {rows}, {columns}")
    return ", ".join(found)
