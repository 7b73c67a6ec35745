"""Phrases that the messages are made of: elements, threads, counts, ranges."""

from __future__ import annotations

Dim3 = tuple[int, int, int]

THIRD_PERSON = {"read": "reads", "write": "writes", "atomic": "updates atomically"}
NOUN = {"read": "read", "write": "write", "atomic": "atomic operation"}


def element(array: str, index: int, dims: tuple[int, ...] | None = None) -> str:
    """A flat element index as the source would write it.

    `dims` are the declared dimensions: None for a pointer (one flat subscript), () for a variable that is no array, (8, 9) for `s[8][9]`.
    An index outside keeps counting in the first dimension, so `s[8][0]` is the first element behind `s[8][9]`.
    """
    if dims == () and index == 0:
        return array
    if not dims or len(dims) == 1 or index < 0:
        return f"{array}[{index}]"
    return array + "".join(f"[{i}]" for i in unravel(index, dims))


def unravel(index: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """A flat index (≥ 0) by dimension, last one fastest; what exceeds the dims stays in the first."""
    parts = []
    for size in reversed(dims[1:]):
        index, rest = divmod(index, max(size, 1))
        parts.append(rest)
    return (index, *reversed(parts))


def at_line(line: int | None) -> str:
    """ " on line 7", or nothing where the line isn't known."""
    return f" on line {line}" if line else ""


def tuple_text(xyz: Dim3) -> str:
    return f"({','.join(str(int(i)) for i in xyz)})"


def plural(count: int, word: str) -> str:
    """ "1 element", "12 elements"."""
    return f"{count} {word}" if count == 1 else f"{count} {_plural_word(word)}"


def _plural_word(word: str) -> str:
    if word.endswith(("ss", "sh", "ch", "x")):
        return word + "es"
    return word + "s"


def who(thread: Dim3, block: Dim3, name_block: bool = True) -> str:
    text = f"thread {tuple_text(thread)}"
    return f"{text} of block {tuple_text(block)}" if name_block else text


def index_value(index: int, dims: tuple[int, ...] | None) -> int | tuple[int, ...]:
    return unravel(index, dims) if dims and len(dims) > 1 and index >= 0 else index


def span(array: str, first: int, last: int, dims: tuple[int, ...] | None = None) -> str:
    """y[10..15]; for several dimensions both corners."""
    if first == last:
        return element(array, first, dims)
    if dims and len(dims) > 1 and first >= 0:
        return f"{element(array, first, dims)}..{element(array, last, dims).removeprefix(array)}"
    return f"{array}[{first}..{last}]"


def also_numpy(array: str, index: int, shape: tuple[int, ...] | None) -> str:
    """The NumPy index beside the flat one, where the argument has several dimensions: " (that is C[1, 2])"."""
    if not shape or len(shape) < 2:
        return ""
    size = 1
    for n in shape:
        size *= n
    return f" (that is {array}[{', '.join(str(i) for i in unravel(index, shape))}])" if 0 <= index < size else ""


def product(dims: tuple[int, ...]) -> int:
    total = 1
    for n in dims:
        total *= int(n)
    return total


def times(count: int) -> str:
    return f" It happens {count} times." if count > 1 else ""


def thread_ranges(threads: list[int], limit: int = 4) -> str:
    """Linear thread numbers in words: "threads 0..31", "threads 0..15, 32..47", "thread 5"."""
    numbers = sorted(set(int(t) for t in threads))
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    shown = [f"{a}" if a == b else f"{a}..{b}" for a, b in runs[:limit]]
    more = f" and {len(runs) - limit} more groups" if len(runs) > limit else ""
    return ("thread " if len(numbers) == 1 else "threads ") + ", ".join(shown) + more


def lanes(mask: int) -> str:
    return thread_ranges([i for i in range(32) if mask >> i & 1]).replace("threads", "lanes").replace("thread", "lane")


def per(amount: int, requests: int) -> str:
    return short(amount / requests) if requests else "0"


def short(value: float) -> str:
    """Two decimals at most: 32, 1.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
