"""Got against expected: is it right, and if not, what is wrong first and where the wrong elements cluster."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

ENOUGH = 0.5  # a cluster is named when at least this part of it is wrong (and nothing outside it)
# One next step for the places that point at a usual cause.
ADVICE = {
    ", all in the last block": "Look at what the last block's threads do.",
    ", all in the last, partial tile": "Look at what the threads of a partial tile do.",
    ", all behind the first tile": "Look at what changes from one tile to the next.",
    ", all behind": "Look at how blockIdx enters the index.",
    ", all at multiples of": "Look at what the first thread of each block or warp does.",
    ", all one before multiples": "Look at what the last thread of each block or warp does.",
    ", all off the diagonal": "Look at which of the two indices is the row.",
}
OF_SEVERAL_BLOCKS = (", all in the last block", ", all behind")


def mismatch(
    name: str, got: np.ndarray, expected: np.ndarray, rtol: float, atol: float, block: int, blocks: int | None = None, *, advise: bool = True
) -> str:
    """"" where every element is right, else the explanation: index, got, expected, and where the wrong elements cluster.

    `got`: the raw output, any shape and numeric dtype. `expected`: the reference of the same shape. Integers must be equal; floats are compared in float64
    by `not (err <= atol + rtol * |expected|)`, so a NaN is wrong unless one is expected. `block`: threads of a block, to recognise the last one.
    `blocks`: how many there are, None for any number; where there is one, no advice is about the others. `advise`: end with a next step for that place.
    Raises ValueError where the shapes differ (a fault of the reference, not of the kernel).
    """
    expected = np.asarray(expected)
    if got.shape != expected.shape:
        raise ValueError(f"the reference gives {name} the shape {expected.shape}, the case {got.shape}")
    wrong = wrong_elements(got, expected, rtol, atol)
    if not wrong.any():
        return ""
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.ndim else ()
    text = f"{name}{_index(first)} is {_value(got[first], got.dtype)}, expected {_value(expected[first], got.dtype)}"
    count, size = int(wrong.sum()), wrong.size
    if size == 1:
        return f"{text}. {_pattern(name, got, expected, rtol, atol)}".rstrip()
    if count == 1:
        return f"{text}; the other {'element is' if size == 2 else f'{size - 1} elements are'} right."
    if count == size:
        return f"{text}; every element is wrong. {_pattern(name, got, expected, rtol, atol)}".rstrip()
    if count > ENOUGH * size and not got.astype(bool).any():
        return f"{text}; {count} of {size} elements are wrong. It is 0 throughout."
    where = cluster(wrong, block)
    fitting = (words for start, words in ADVICE.items() if where.startswith(start) and not (blocks == 1 and start in OF_SEVERAL_BLOCKS))
    advice = next(fitting, "") if advise else ""
    return f"{text}; {count} of {size} elements are wrong{where}. {advice}".rstrip()


def wrong_elements(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """A boolean array of the shape of `got`: True where an element is wrong."""
    if got.dtype.kind in "biu" and expected.dtype.kind in "biu":
        return np.asarray(got.astype(object) != expected.astype(object)) if _mixed(got, expected) else np.asarray(got != expected)
    if "c" in (got.dtype.kind, expected.dtype.kind):
        a, b = got.astype(np.complex128), expected.astype(np.complex128)
    else:
        a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= atol + rtol * np.abs(b)
        # An infinite limit would let everything pass: infinities are right only where they are equal.
        near &= np.isfinite(a) & np.isfinite(b)
        right = near | (a == b) | (np.isnan(a) & np.isnan(b))
    return ~np.asarray(right)


def cluster(wrong: np.ndarray, block: int) -> str:
    """", all in the last block (from 768 on)": the tightest place that holds every wrong element, "" if none fits."""
    best, tightness = "", ENOUGH
    count = int(wrong.sum())
    for words, place in _places(wrong.shape, block):
        size = int(place.sum())
        if size < wrong.size and not (wrong & ~place).any() and count >= tightness * size and (not best or count > tightness * size):
            best, tightness = words, count / size
    if best:
        return f", all {best}"
    flat = np.flatnonzero(wrong)
    if wrong.ndim <= 1 and flat.size == flat[-1] - flat[0] + 1:
        return f", all from {flat[0]} to {flat[-1]}"
    return ""


def _places(shape: tuple[int, ...], block: int) -> Iterator[tuple[str, np.ndarray]]:
    """Places worth naming, each with its mask. Earlier ones win a tie."""
    size = int(np.prod(shape))
    flat = np.arange(size).reshape(shape)
    if len(shape) >= 2:
        rows, cols = np.indices(shape)[-2:]
        height, width = shape[-2:]
        yield "in row 0", rows == 0
        yield "in the last row", rows == height - 1
        yield "in column 0", cols == 0
        yield "in the last column", cols == width - 1
        yield "on the diagonal", rows == cols
        yield "off the diagonal", rows != cols
        yield "above the diagonal", cols > rows
        yield "below the diagonal", cols < rows
        yield "in odd rows", rows % 2 == 1
        yield "in even rows", rows % 2 == 0
        yield "in odd columns", cols % 2 == 1
        yield "in even columns", cols % 2 == 0
        for tile in (32, 16, 64):
            if height > tile and height % tile:
                yield f"in the last, partial tile of {tile} rows (from row {height - height % tile} on)", rows >= height - height % tile
            if width > tile and width % tile:
                yield f"in the last, partial tile of {tile} columns (from column {width - width % tile} on)", cols >= width - width % tile
            if height > tile:
                yield f"behind the first tile of {tile} (from row {tile} on)", rows >= tile
            if width > tile:
                yield f"behind the first tile of {tile} (from column {tile} on)", cols >= tile
    if len(shape) == 3:
        heads = np.indices(shape)[0]
        yield "in plane 0", heads == 0
        yield "in odd planes", heads % 2 == 1
    yield "at index 0", flat == 0
    yield f"at the last index ({size - 1})", flat == size - 1
    for period in dict.fromkeys((block, 32)):
        if 1 < period < size:
            tail = size - (size % period or period)
            yield f"in the last block of {period} (from {tail} on)", flat >= tail
            yield f"behind the first block of {period} (from {period} on)", flat >= period
            yield f"in the first block of {period}", flat < period
            yield f"at multiples of {period}", flat % period == 0
            yield f"one before multiples of {period}", flat % period == period - 1
    yield "at odd indices", flat % 2 == 1
    yield "at even indices", flat % 2 == 0


def _pattern(name: str, got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> str:
    """What the whole output looks like, when all of it is wrong: one sentence or ""."""

    def fits(candidate: np.ndarray) -> bool:
        return candidate.shape == got.shape and not wrong_elements(got, candidate, rtol, atol).any()

    with np.errstate(all="ignore"):
        if got.dtype.kind == "f" and np.isnan(got).all():
            return "It is NaN throughout: look for 0/0, inf - inf or a value that was never set."
        if not got.astype(np.complex128 if got.dtype.kind == "c" else np.float64).any():
            return "It is 0 throughout."
        if got.size > 1 and fits(np.broadcast_to(got.reshape(-1)[0], got.shape)):
            return "It is the same number throughout."
        if expected.ndim == 2 and expected.shape[0] == expected.shape[1] and fits(expected.T):
            return f"It is the transpose of what {name} should be."
        if got.dtype.kind == "f" and (expected != 0).all():
            factor = float(np.median(got.astype(np.float64) / expected.astype(np.float64)))
            if np.isfinite(factor) and factor != 0 and fits(expected * factor):
                return f"It is {factor:.4g} times what it should be."
            shift = float(np.median(got.astype(np.float64) - expected.astype(np.float64)))
            if np.isfinite(shift) and shift != 0 and fits(expected + shift):
                return f"It is what it should be {'+' if shift > 0 else '-'} {abs(shift):.4g}."
    return ""


def _mixed(a: np.ndarray, b: np.ndarray) -> bool:
    """uint64 against a signed type would be compared as float64."""
    return {a.dtype.kind, b.dtype.kind} == {"i", "u"} and max(a.dtype.itemsize, b.dtype.itemsize) == 8


def _index(index: tuple) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]" if index else ""


def _value(value: np.generic, dtype: np.dtype) -> str:
    """As many digits as the output's type holds; whole floats keep their ".0"."""
    if dtype.kind in "biu":
        number = value.item()
        return str(int(number)) if isinstance(number, (bool, int)) or float(number).is_integer() else f"{number:.6g}"
    number = complex(value) if dtype.kind == "c" else float(value)
    if isinstance(number, complex):
        return f"{number:.6g}"
    digits = {2: 4, 4: 7}.get(dtype.itemsize, 12)
    text = f"{number:.{digits}g}"
    return text if any(c in text for c in ".eni") else text + ".0"
