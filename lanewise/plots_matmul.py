"""Pictures of a matrix product, in the manner of `plots`: SVG text from plain numbers."""

from __future__ import annotations

from lanewise.plots import Picture, _Canvas


def tile_walk(rows: int, cols: int, inner: int, tile: int, block: tuple[int, int] = (0, 0), step: int = 0) -> Picture:
    """C = A B in square tiles: the tile of C that block (x, y) makes, and the tiles of A and B that it reads in `step`.

    A is rows × inner, B inner × cols, C rows × cols; all are multiples of `tile` here. B stands above C and A to its left, so that a row of A and
    a column of B meet in their element of C. Raises ValueError where the block or the step isn't there.
    """
    down, across, steps = rows // tile, cols // tile, inner // tile
    if not (0 <= block[0] < across and 0 <= block[1] < down and 0 <= step < steps):
        raise ValueError(f"tile_walk has {across} x {down} blocks and {steps} steps: pass a block and a step below that.")
    cell = min(44, 400 // (across + steps))
    canvas, gap, edge = _Canvas(), 26, 40
    left, top = edge + steps * cell + gap, 34 + steps * cell + gap  # C's corner
    canvas.box(edge, top + block[1] * cell, steps * cell, cell, "none")
    canvas.box(left + block[0] * cell, top - gap - steps * cell, cell, steps * cell, "none")
    for done in range(step + 1):
        kind = "warm" if done == step else "soft"
        canvas.box(edge + done * cell, top + block[1] * cell, cell, cell, kind)
        canvas.box(left + block[0] * cell, top - gap - (steps - done) * cell, cell, cell, kind)
        for x, y in ((edge + (done + 0.5) * cell, top + (block[1] + 0.6) * cell), (left + (block[0] + 0.5) * cell, top - gap - (steps - done - 0.6) * cell)):
            canvas.text(x, y, str(done), "on small mid")
    canvas.box(left + block[0] * cell, top + block[1] * cell, cell, cell, "warm")
    canvas.grid(edge, top, steps, down, cell, cell)
    canvas.grid(left, top - gap - steps * cell, across, steps, cell, cell)
    canvas.grid(left, top, across, down, cell, cell)
    canvas.text(edge, top - 8, f"A: {rows} x {inner}", "ink head")
    canvas.text(left, 22, f"B: {inner} x {cols}", "ink head")
    canvas.text(left, top - 8, f"C: {rows} x {cols}", "ink head")
    canvas.text(edge, top + down * cell + 20, f"In step {step} of 0 .. {steps - 1} the block reads the two orange tiles,", "ink")
    canvas.text(edge, top + down * cell + 36, "and adds their product to its tile of C.", "ink")
    return canvas.picture(
        f"Matrices of tiles of {tile} x {tile}, B above C, A left of C. Block ({block[0]}, {block[1]}) makes one tile of C from a row of {steps} tiles of A "
        f"and a column of {steps} tiles of B; in step {step} it reads tile {step} of each."
    )


def uses(tile: int = 4) -> Picture:
    """One step inside a block: row y of a's tile and column x of b's meet in the element of thread (x, y); who else uses them is marked.

    Raises ValueError for a tile below 2 or above 8.
    """
    if not 2 <= tile <= 8:
        raise ValueError("uses draws a tile of 2 to 8: pass a size in between.")
    canvas, cell, gap, edge = _Canvas(), 22, 22, 12
    y, x = 1, tile - 2
    left, top = edge + tile * cell + gap, 40 + tile * cell + gap
    canvas.box(edge, top + y * cell, tile * cell, cell, "soft")
    canvas.box(left + x * cell, top - gap - tile * cell, cell, tile * cell, "soft")
    canvas.box(left, top + y * cell, tile * cell, cell, "none")
    canvas.box(left + x * cell, top, cell, tile * cell, "none")
    canvas.box(left + x * cell, top + y * cell, cell, cell, "warm")
    for gx, gy in ((edge, top), (left, top - gap - tile * cell), (left, top)):
        canvas.grid(gx, gy, tile, tile, cell, cell)
    canvas.text(edge, top - 6, "a", "ink head")
    canvas.text(left - 14, top - gap - tile * cell + 12, "b", "ink head")
    canvas.text(left + tile * cell + 8, top + (y + 0.7) * cell, f"this row of a serves {tile} threads", "dim")
    canvas.text(left + tile * cell + 8, top - gap - tile * cell / 2, f"this column of b serves {tile} threads", "dim")
    return canvas.picture(
        f"A tile of a, one of b, and the block's {tile} x {tile} threads. Each row of a is used by {tile} threads, and so is each column of b: "
        f"what was fetched once from global memory is used {tile} times."
    )
