"""Bytes and halves of a word side by side, minima that stop at zero, the n-th set bit: integer intrinsics beyond one operation a word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Case
from .integer import I32, bits_of, by_element, operands
from .table import Row, table

Lane = Callable[[int, int], int]


def signed_of(v: int, bits: int) -> int:
    return (v & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def lanes(function: Lane, bits: int, is_signed: bool) -> Callable[..., int]:
    """A function of two lanes for every lane of two words."""
    read = signed_of if is_signed else bits_of

    def whole(a: int, b: int, c: int = 0) -> int:
        return sum(bits_of(function(read(a >> at, bits), read(b >> at, bits)), bits) << at for at in range(0, 32, bits))

    return whole


def summed(function: Lane, bits: int, is_signed: bool) -> Callable[..., int]:
    read = signed_of if is_signed else bits_of
    return lambda a, b, c: sum(function(read(a >> at, bits), read(b >> at, bits)) for at in range(0, 32, bits))


def rounded_average(a: int, b: int) -> int:
    """Halves are rounded away from zero."""
    return (a + b + 1 if a + b >= 0 else a + b) >> 1


def difference(a: int, b: int) -> int:
    return abs(a - b)


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ge": lambda a, b: a >= b, "gt": lambda a, b: a > b, "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
}  # fmt: skip


def video_rows(bits: int) -> list[Row]:
    """All __v…2 or __v…4."""
    count, low, high, all_ones = 32 // bits, -(1 << bits - 1), (1 << bits - 1) - 1, (1 << bits) - 1

    def row(name: str, function: Callable[..., int], operands: str = "a, b") -> Row:
        return Row(name, f"__{name}{count}({operands})", lambda a, b, c: by_element(function, np.uint32)(a, b, c))

    def each(name: str, function: Lane, is_signed: bool, operands: str = "a, b") -> Row:
        return row(name, lanes(function, bits, is_signed), operands)

    def held(v: int, signed: bool) -> int:
        return max(low, min(high, v)) if signed else max(0, min(all_ones, v))

    rows = [
        each("vabs", lambda a, b: abs(a), True, "a"),
        each("vabsss", lambda a, b: min(abs(a), high), True, "a"),
        each("vneg", lambda a, b: -a, True, "a"),
        each("vnegss", lambda a, b: min(-a, high), True, "a"),
        each("vadd", lambda a, b: a + b, False),
        each("vaddss", lambda a, b: held(a + b, True), True),
        each("vaddus", lambda a, b: held(a + b, False), False),
        each("vsub", lambda a, b: a - b, False),
        each("vsubss", lambda a, b: held(a - b, True), True),
        each("vsubus", lambda a, b: held(a - b, False), False),
        each("vabsdiffs", difference, True),
        each("vabsdiffu", difference, False),
        each("vavgs", rounded_average, True),
        each("vavgu", lambda a, b: (a + b + 1) >> 1, False),
        each("vhaddu", lambda a, b: (a + b) >> 1, False),
        row("vsads", summed(difference, bits, True)),
        row("vsadu", summed(difference, bits, False)),
    ]
    for name, function in (("max", max), ("min", min)):
        rows += [each(f"v{name}s", function, True), each(f"v{name}u", function, False)]
    for name, holds in COMPARISONS.items():
        for sign in ("",) if name in ("eq", "ne") else ("s", "u"):
            rows.append(each(f"vcmp{name}{sign}", lambda a, b, holds=holds: all_ones * holds(a, b), sign == "s"))
            rows.append(each(f"vset{name}{sign}", lambda a, b, holds=holds: int(holds(a, b)), sign == "s"))
    return rows


def three_rows() -> list[Row]:
    """__vi…: sums and triples held by a minimum or maximum, some not below zero."""
    rows = []
    for name, extreme in (("max", max), ("min", min)):
        for type, bits, is_signed in (("s32", 32, True), ("u32", 32, False), ("s16x2", 16, True), ("u16x2", 16, False)):
            read = signed_of if is_signed else bits_of
            for relu in (False, True) if is_signed else (False,):

                def of_two(a, b, c, extreme=extreme, bits=bits, read=read, relu=relu, add=False, third=False):
                    """A lane's value from those of a, b, c."""
                    word = 0
                    for at in range(0, 32, bits):
                        x, y, z = (read(v >> at, bits) for v in (a, b, c))
                        value = extreme(read(x + y, bits), z) if add else extreme(x, y, z) if third else extreme(x, y)
                        word |= bits_of(max(value, 0) if relu else value, bits) << at
                    return word

                cast, end = ("(unsigned)" if type != "s32" else ""), f"_{type}{'_relu' if relu else ''}"
                arguments = ", ".join(f"{cast}{x}" for x in "abc")
                forms = [(f"__viadd{name}{end}({arguments})", {"add": True}), (f"__vi{name}3{end}({arguments})", {"third": True})]
                if relu:
                    forms.append((f"__vi{name}{end}({cast}a, {cast}b)", {}))
                for code, how in forms:
                    whole = by_element(lambda a, b, c, of_two=of_two, how=how: of_two(a, b, c, **how), np.int32)
                    rows.append(Row(code.split("(")[0][2:], code, whole))
    return rows


def nth_set(mask: int, base: int, offset: int) -> int:
    """__fns: position of the n-th set bit of the mask, counted from bit `base` upwards (n > 0) or downwards (n < 0); 0: bit `base` itself."""
    mask, base = bits_of(mask), base & 31
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    step = 1 if offset > 0 else -1
    left = abs(offset)
    while 0 <= base < 32:
        left -= mask >> base & 1
        if not left:
            return base
        base += step
    return 0xFFFFFFFF


def word_rows() -> list[Row]:
    def row(label: str, code: str, function: Callable[..., int]) -> Row:
        return Row(label, code, by_element(function, np.int32))

    def dot2(a: int, b: int, c: int, high: int) -> int:
        return c + sum((bits_of(a) >> 16 * i & 0xFFFF) * (bits_of(b) >> 8 * (i + 2 * high) & 0xFF) for i in range(2))

    unsigned = "(unsigned)a, (unsigned)b, (unsigned)c"
    return [
        row("fns", "__fns(a, b & 31, c % 8)", lambda a, b, c: nth_set(a, b, abs(c) % 8 * (1 if c > 0 else -1))),
        row("fns of all", "__fns(a, 0, c & 31)", lambda a, b, c: nth_set(a, 0, c & 31)),
        row("dp2a.lo.u", f"__dp2a_lo({unsigned})", lambda a, b, c: dot2(a, b, c, 0)),
        row("dp2a.hi.u", f"__dp2a_hi({unsigned})", lambda a, b, c: dot2(a, b, c, 1)),
        row("usad", f"__usad({unsigned})", lambda a, b, c: abs(bits_of(a) - bits_of(b)) + c),
        row("sad", "__sad(a, b, c)", lambda a, b, c: abs(a - b) + c),
        row("uhadd", "__uhadd(a, b)", lambda a, b, c: (bits_of(a) + bits_of(b)) >> 1),
        row("urhadd", "__urhadd(a, b)", lambda a, b, c: (bits_of(a) + bits_of(b) + 1) >> 1),
        row("mul24 sum", "__mul24(a, b) + c", lambda a, b, c: signed_of(a, 24) * signed_of(b, 24) + c),
        row("umul24 sum", "__umul24(a, b) + c", lambda a, b, c: bits_of(a, 24) * bits_of(b, 24) + c),
        row("umax", "max((unsigned)a, (unsigned)b)", lambda a, b, c: max(bits_of(a), bits_of(b))),
        row("umin", "min((unsigned)a, (unsigned)b)", lambda a, b, c: min(bits_of(a), bits_of(b))),
    ]


WORDS = I32.view(np.uint32)
EDGES = np.array(
    [0, 0x00010001, 0x7F7F7F7F, 0x80808080, 0x80008000, 0x7FFF7FFF, 0xFFFFFFFF, 0x01FF7F80, 0xFF80007F, 0x80FF0001, 0x12345678, 0x87654321], np.uint32
)
CASES: list[Case] = [
    table("integer.bytes_of_words", ("unsigned",) * 3, "unsigned", video_rows(8), operands(EDGES, 3, 112, 6)),
    table("integer.halves_of_words", ("unsigned",) * 3, "unsigned", video_rows(16), operands(EDGES, 3, 112, 7)),
    table("integer.three", ("int",) * 3, "int", three_rows(), operands(np.concatenate([I32[::2], EDGES.view(np.int32)[1:9]]), 3, 128, 8)),
    table("integer.words", ("int",) * 3, "int", word_rows(), operands(I32, 3, 128, 9)),
]
