"""Correctly rounded answers: exact fractions brought to a format in each of IEEE 754's directions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

FORMATS = {np.dtype(np.float16): (11, -14, 15), np.dtype(np.float32): (24, -126, 127), np.dtype(np.float64): (53, -1022, 1023)}
BFLOAT16 = (8, -126, 127)


def rounded(exact: Fraction, shape: tuple[int, int, int], mode: str = "rn") -> float:
    """The value of a format (`shape`: precision, least and largest exponent) next to `exact`; mode rn, rz, ru, rd or rna (ties away)."""
    precision, least, largest = shape
    if exact == 0:
        return 0.0
    magnitude, negative = abs(exact), exact < 0
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, least) - precision + 1)
    quotient, rest = divmod(magnitude, step)
    up = {
        "rn": rest * 2 > step or (rest * 2 == step and quotient % 2 == 1),
        "rna": rest * 2 >= step,
        "rz": False,
        "ru": rest > 0 and not negative,
        "rd": rest > 0 and negative,
    }[mode]
    value = (quotient + up) * step
    top = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** largest
    if value > top:
        toward = mode == "rz" or (mode == "ru" and negative) or (mode == "rd" and not negative)
        value = top if toward else None
    result = float("inf") if value is None else float(value)
    return -result if negative else result


def exactly(operation, dtype, mode: str = "rn", shape: tuple[int, int, int] | None = None):
    """A row of a table: `operation` on Fractions where all operands are finite, IEEE 754's special cases through float64 elsewhere.

    The sign of a zero result is float64's, except that an exact cancellation gives −0 when rounding down.
    """
    dtype = np.dtype(dtype)
    shape = shape or FORMATS[dtype]

    def one(*operands):
        finite = all(np.isfinite(v) for v in operands)
        if operation is FMA and np.isfinite(operands[0]) and np.isfinite(operands[1]) and not finite:
            return float(operands[2])  # the product alone can't overflow
        with np.errstate(all="ignore"):
            plain = operation(*(np.float64(v) for v in operands))
        if not finite or not operands_defined(operation, operands):
            return float(plain)
        exact = operation(*(Fraction(float(v)) for v in operands))
        if exact == 0:
            return signed_zero(operation, operands, mode)
        value = rounded(exact, shape, mode)
        return -0.0 if value == 0 and exact < 0 else value

    def row(*columns):
        values = [one(*row) for row in zip(*columns, strict=True)]
        with np.errstate(all="ignore"):
            return np.array(values, np.float64).astype(dtype)

    return row


def operands_defined(operation, operands) -> bool:
    try:
        operation(*(Fraction(float(v)) for v in operands))
    except ZeroDivisionError:
        return False
    return True


def signed_zero(operation, operands, mode) -> float:
    """An exact zero: with the sign of its zero operands where they agree, else + (− when rounding down)."""
    with np.errstate(all="ignore"):
        tiny = operation(*(np.float64(v) for v in operands))
    if tiny == 0 and np.signbit(tiny):
        return -0.0
    additive = operation in (ADD, SUB, FMA)
    if additive and mode == "rd" and cancels(operation, operands):
        return -0.0
    return 0.0


def cancels(operation, operands) -> bool:
    """Is the zero a sum of two terms of opposite signs?"""
    a, b = operands[0], operands[1]
    first, second = {ADD: (a, b), SUB: (a, -b)}.get(operation) or (np.copysign(1.0, a) * np.copysign(1.0, b), operands[2])
    return bool(np.signbit(first) != np.signbit(second))


def ADD(a, b):
    return a + b


def SUB(a, b):
    return a - b


def MUL(a, b):
    return a * b


def DIV(a, b):
    return a / b


def FMA(a, b, c):
    return a * b + c


def to_bfloat16(values, mode: str = "rn") -> np.ndarray:
    """float64 values → bits of bfloat16."""
    return (np.array([special_or(v, mode) for v in np.asarray(values, np.float64)], np.float32).view(np.uint32) >> 16).astype(np.uint16)


def special_or(value, mode):
    return float(value) if not np.isfinite(value) or value == 0 else rounded(Fraction(float(value)), BFLOAT16, mode) or np.copysign(0.0, value)


def from_bfloat16(bits) -> np.ndarray:
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def root(dtype):
    """Correctly rounded square root: of a float32 through float64 (53 ≥ 2·24 + 2 bits), of a float64 as NumPy has it."""

    def row(a, *_):
        with np.errstate(all="ignore"):
            return np.sqrt(np.asarray(a, np.float64)).astype(dtype)

    return row


def flushed(array) -> np.ndarray:
    """Subnormal float32 → zero of the same sign: what .ftz does to operands and results."""
    array = np.asarray(array, np.float32)
    return np.where(np.abs(array) < np.float32(2.0**-126), np.copysign(np.float32(0), array), array)
