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
