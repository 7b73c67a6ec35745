"""Pictures of a pass's matrix products: which operand lies in registers, in shared or in global memory; SVG text from plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.plots import Picture, _Canvas

KINDS = {"registers": "warm", "shared": "soft", "global": "none"}


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of rows x columns (named, such as "keys", "queries", "d") and the memory it lies in: registers, shared or global."""

    name: str
    rows: str
    columns: str
    place: str


Product = tuple[Matrix, Matrix, Matrix]  # A, B and what A B is added to


def products(passes: Sequence[tuple[str, Sequence[Product]]]) -> Picture:
    """The products of each pass, one below the other: A, B and C with their shapes, coloured by where they lie.

    Raises ValueError for a place that isn't known, or a product whose shapes don't fit.
    """
    canvas, cell, high, top = _Canvas(), 62, 40, 54
    said = []
    for number, (title, each) in enumerate(passes):
        left = 12 + number * 372
        canvas.text(left, 20, title, "ink head")
        for row, (a, b, c) in enumerate(each):
            if (a.rows, a.columns, b.columns) != (c.rows, b.rows, c.columns):
                raise ValueError(f"{c.name} = {a.name} {b.name} doesn't fit: A's columns are B's rows, and C has A's rows and B's columns.")
            y = top + row * (high + 34)
            for x, matrix in ((left, c), (left + 120, a), (left + 240, b)):
                if matrix.place not in KINDS:
                    raise ValueError(f"{matrix.name} lies in {matrix.place!r}: name one of {', '.join(KINDS)}.")
                canvas.box(x, y, cell + 28, high, KINDS[matrix.place])
                canvas.box(x, y, cell + 28, high, "rim")
                canvas.text(x + (cell + 28) / 2, y + 24, matrix.name, ("ink" if matrix.place == "global" else "on") + " head mid")
                canvas.text(x + (cell + 28) / 2, y + high + 12, f"{matrix.rows} × {matrix.columns}", "dim small mid")
            canvas.text(left + 105, y + 24, "+=" if c.columns == "d" else "=", "ink mid")
            canvas.text(left + 225, y + 24, "×", "ink mid")
            said.append(f"{title}: {c.name} ({c.place}) from {a.name} ({a.place}) and {b.name} ({b.place})")
    bottom = top + max(len(each) for _, each in passes) * (high + 34) + 6
    for x, (place, words) in zip((12, 132, 272), (("registers", "registers"), ("shared", "shared memory"), ("global", "global memory, added to")), strict=True):
        canvas.box(x, bottom - 11, 14, 14, KINDS[place])
        canvas.box(x, bottom - 11, 14, 14, "rim")
        canvas.text(x + 20, bottom, words, "ink")
    return canvas.picture("; ".join(said) + ".")


def backward_passes() -> Picture:
    """The five products of the pass that keeps keys, and the three of the pass that keeps queries, as the kernels of chapter 23 make them."""

    def of(name: str, rows: str, columns: str, place: str) -> Matrix:
        return Matrix(name, rows, columns, place)

    keys = (
        (of("K", "keys", "d", "shared"), of("Qᵀ", "d", "queries", "shared"), of("Sᵀ", "keys", "queries", "registers")),
        (of("V", "keys", "d", "shared"), of("dOᵀ", "d", "queries", "shared"), of("dPᵀ", "keys", "queries", "registers")),
        (of("Pᵀ", "keys", "queries", "registers"), of("dO", "queries", "d", "shared"), of("dV", "keys", "d", "registers")),
        (of("dSᵀ", "keys", "queries", "registers"), of("Q", "queries", "d", "shared"), of("dK", "keys", "d", "registers")),
        (of("dS", "queries", "keys", "shared"), of("K", "keys", "d", "shared"), of("dQ", "queries", "d", "global")),
    )
    queries = (
        (of("Q", "queries", "d", "shared"), of("Kᵀ", "d", "keys", "shared"), of("S", "queries", "keys", "registers")),
        (of("dO", "queries", "d", "shared"), of("Vᵀ", "d", "keys", "shared"), of("dP", "queries", "keys", "registers")),
        (of("dS", "queries", "keys", "registers"), of("K", "keys", "d", "shared"), of("dQ", "queries", "d", "registers")),
    )
    return products((("keys stay", keys), ("queries stay", queries)))
